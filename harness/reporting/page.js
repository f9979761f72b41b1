"use strict";
// The matrix works without this. Here: theme, filters, arrow keys, and which cell's page the address asks for.
(() => {
  const byId = (id) => document.getElementById(id);
  const title = document.title;
  const columns = JSON.parse(byId("columns").textContent);
  const rows = [...document.querySelectorAll(".matrix tbody:not(.folder) tr")];
  let report = null;
  let opened = "";

  const say = (text) => { byId("said").textContent = text; };

  async function inflated(id) {
    const bytes = Uint8Array.from(atob(byId(id).textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  // --- theme ---------------------------------------------------------------------------------------------------
  const theme = byId("theme");
  function setTheme(name) {
    if (name) document.documentElement.dataset.theme = name; else delete document.documentElement.dataset.theme;
    try { localStorage.setItem("repro-theme", name); } catch { /* a page from a file may not store */ }
  }
  try { theme.value = localStorage.getItem("repro-theme") || ""; } catch { /* nor read */ }
  if (theme.selectedIndex < 0) theme.value = "";
  setTheme(theme.value);
  theme.addEventListener("change", () => setTheme(theme.value));
  theme.parentElement.hidden = false;

  const newest = byId("newest");
  if (newest) {
    const days = Math.floor((Date.now() - Date.parse(newest.dateTime)) / 864e5);
    if (days > 1) newest.after(` (${days} days ago)`);
  }

  // --- filters: words of the row's header, and states; both stand in the address ------------------------------------
  const query = byId("query");
  const states = [...document.querySelectorAll("button[data-state]")];
  const headers = rows.map((row) => row.cells[0].textContent.toLowerCase());

  function filter() {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = states.filter((button) => button.ariaPressed === "true").map((button) => button.dataset.state);
    let shown = 0;
    let group = null;
    rows.forEach((row, number) => {
      const fits = words.every((word) => headers[number].includes(word))
        && (!wanted.length || wanted.some((state) => row.querySelector(`td.${state}`)));
      row.hidden = !fits;
      row.classList.toggle("first", fits && row.parentElement !== group);
      if (fits) { group = row.parentElement; shown += 1; }
    });
    const narrowed = words.length || wanted.length;
    let folder = null;
    for (const body of document.querySelectorAll(".matrix tbody")) {  // a folder without rows that fit goes too
      if (body.classList.contains("folder")) { folder = body; folder.hidden = true; continue; }
      const fits = body.querySelector("tr:not([hidden])");
      if (folder && fits) folder.hidden = false;
      body.hidden = Boolean(folder && !narrowed && folder.querySelector("button").ariaExpanded === "false");
    }
    byId("found").textContent = narrowed ? `${shown} of ${counted(rows.length, "claim")}` : "";
    byId("clear").hidden = !narrowed;
    rove(links().find((link) => link.tabIndex === 0) || links()[0]);
    return {words: query.value.trim(), wanted};
  }
  function filterAndRemember() {
    const {words, wanted} = filter();
    const parts = [];
    if (words) parts.push("q=" + encodeURIComponent(words));
    if (wanted.length) parts.push("state=" + wanted.join(","));
    const address = parts.length ? "#?" + parts.join("&") : "#";
    if (address !== (location.hash || "#")) history.replaceState(null, "", address);
  }
  function filterFrom(text) {
    const parts = new URLSearchParams(text);
    query.value = parts.get("q") || "";
    const wanted = (parts.get("state") || "").split(",");
    for (const button of states) button.ariaPressed = String(wanted.includes(button.dataset.state));
    filter();
  }
  query.addEventListener("input", filterAndRemember);
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  byId("clear").addEventListener("click", () => {
    query.value = "";
    for (const button of states) button.ariaPressed = "false";
    filterAndRemember();
    query.focus();
  });
  for (const button of states) {
    button.disabled = false;
    button.addEventListener("click", () => {
      button.ariaPressed = String(button.ariaPressed !== "true");
      filterAndRemember();
    });
  }
  byId("filter").hidden = byId("hint").hidden = false;

  // --- folders fold; a filter shows what fits in folded ones too -----------------------------------------------------
  const folds = [...document.querySelectorAll(".folder button")];
  function fold(buttons, open) {
    for (const button of buttons) button.ariaExpanded = String(open);
    filter();
    byId("fold").textContent = folds.some((one) => one.ariaExpanded === "true") ? "Fold all" : "Unfold all";
  }
  for (const button of folds) {
    button.disabled = false;
    button.addEventListener("click", () => fold([button], button.ariaExpanded === "false"));
  }
  byId("fold").hidden = !folds.length;
  byId("fold").addEventListener("click", () => fold(folds, !folds.some((one) => one.ariaExpanded === "true")));

  // --- one stop for Tab in the matrix; arrows, Home and End move in it ----------------------------------------------
  const visible = (row) => !row.hidden && !row.parentElement.hidden;
  const links = () => rows.filter(visible).flatMap((row) => [...row.querySelectorAll("td a")]);
  let roving = null;
  function rove(link) {
    if (roving) roving.tabIndex = -1;
    roving = link || null;
    if (roving) roving.tabIndex = 0;
  }
  for (const link of document.querySelectorAll(".matrix tr a")) link.tabIndex = -1;

  // The link of the next cell that has one from (row, column) on by these steps.
  function next(row, column, down, right) {
    const seen = rows.filter(visible);
    let at = seen.indexOf(row) + down;
    let across = column + right;
    while (at >= 0 && at < seen.length && across >= 0 && across < seen[at].cells.length) {
      const link = seen[at].cells[across].querySelector("a");
      if (link) return link;
      at += down;
      across += right;
    }
    return null;
  }
  const STEPS = {ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1]};
  byId("matrix").addEventListener("keydown", (event) => {
    const cell = event.target.closest("td, th[scope=row]");
    if (!cell || event.ctrlKey || event.altKey || event.metaKey) return;
    const row = cell.parentElement;
    let link = null;
    if (STEPS[event.key]) link = next(row, cell.cellIndex, ...STEPS[event.key]);
    else if (event.key === "Home") link = row.querySelector("td a");
    else if (event.key === "End") link = [...row.querySelectorAll("td a")].pop();
    else return;
    event.preventDefault();
    if (link) { rove(link); link.focus(); keepClear(link); }
  });
  // Scroll so far that neither the header nor the claims lie over the link.
  function keepClear(link) {
    const frame = byId("matrix");
    const box = frame.getBoundingClientRect();
    const mine = link.closest("td, th").getBoundingClientRect();
    const top = box.top + frame.querySelector("thead").offsetHeight;
    const left = box.left + link.closest("tr").cells[0].offsetWidth;
    if (mine.top < top) frame.scrollTop -= top - mine.top;
    if (mine.right > box.right) frame.scrollLeft += mine.right - box.right;
    if (mine.left < left && link.closest("td")) frame.scrollLeft -= left - mine.left;
  }
  byId("matrix").addEventListener("focusin", (event) => {
    if (event.target.matches("tr a")) rove(event.target);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input, select")) return;
    if (event.key === "/" && !opened) { event.preventDefault(); query.focus(); }
    if (event.key === "Escape" && opened) leave();
  });

  // --- the page of a cell: page_cell.js draws it -------------------------------------------------------------------
  function show(cell, address) {
    const back = make("a", {href: "#", class: "back"}, "← Matrix");
    back.addEventListener("click", (event) => { event.preventDefault(); leave(); });
    byId("cell").replaceChildren(back, ...drawCell(report, columns, cell, address, say));
    document.title = `${cell.state}: ${report.claims[cell.claim][0]} (${title})`;
  }

  function showClaim(path) {
    const back = make("a", {href: "#", class: "back"}, "← Matrix");
    back.addEventListener("click", (event) => { event.preventDefault(); leave(); });
    byId("cell").replaceChildren(back, ...drawClaim(report, columns, path));
    document.title = `${path.split("/").pop()} (${title})`;
  }

  function leave() {
    if (history.state && history.state.within) history.back(); else location.hash = "";
  }

  async function follow() {
    const [name, line] = location.hash.slice(1).split(":");
    if (!name.startsWith("/")) {
      const from = opened;
      opened = "";
      byId("cell").hidden = true;
      byId("overview").hidden = false;
      byId("skip").textContent = "Skip to the matrix";
      document.title = title;
      if (name.startsWith("?") || from === "") filterFrom(name.startsWith("?") ? name.slice(1) : "");
      const all = from ? [...document.querySelectorAll(".matrix tbody a")] : [];
      const link = all.find((one) => one.getAttribute("href") === `#${from}`);
      if (link) { rove(link); link.focus(); keepClear(link); }
      return;
    }
    try {
      report ??= await inflated("cells");
    } catch (error) {
      say("This browser cannot read the cells' pages.");
      byId("about").append(` This browser cannot read the cells' pages: ${error}`);
      return;
    }
    if (location.hash.slice(1).split(":")[0] !== name) return;
    const claim = claimOf(name);
    const place = claim || Object.hasOwn(report.cells, name) ? name : movedTo(name);
    const cell = !claim && place ? report.cells[place] : null;
    opened = place || name;
    if (cell && place !== name) history.replaceState(history.state, "", location.hash.replace(name, place));
    byId("overview").hidden = true;
    byId("cell").hidden = false;
    byId("skip").textContent = "Skip to the cell";
    if (claim) showClaim(claim);
    else if (cell) show(cell, place);
    else {
      byId("cell").replaceChildren(make("a", {href: "#", class: "back"}, "← Matrix"),
        make("h2", {id: "cell-title", tabindex: "-1"}, "This report has no such cell"),
        make("p", {class: "mono"}, decoded(name)));
    }
    scrollTo(0, 0);
    byId("cell-title").focus({preventScroll: true});
    const wanted = line && document.getElementById(`line-${line}`);
    if (wanted) {
      wanted.classList.add("wanted");
      wanted.scrollIntoView({block: "center"});
      wanted.focus({preventScroll: true});
    }
  }
  // The repro whose page this is: `/repros/shuffle.py`, or the only one of that name where it moved since; or "".
  function claimOf(name) {
    const path = decoded(name.slice(1));
    if (name.includes("@") || !path.endsWith(".py")) return "";
    const paths = [...new Set(report.claims.map(([, repro]) => repro))];
    const stem = path.split("/").pop();
    const fits = paths.includes(path) ? [path] : paths.filter((one) => one.split("/").pop() === stem);
    return fits.length === 1 ? fits[0] : "";
  }
  // The only cell of a repro of this name, where the link is older than its folder.
  function movedTo(name) {
    const file = (link) => link.replace(/^[^@]*?\/([^/@]+\.py)(?=[/@])/, "$1");
    const fits = Object.keys(report.cells).filter((link) => file(link) === file(name));
    return fits.length === 1 ? fits[0] : "";
  }
  function decoded(text) {
    try { return decodeURIComponent(text); } catch { return text; }
  }
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    (opened ? byId("cell-title") : byId("matrix")).focus();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#/"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState({within: true}, "", link.getAttribute("href"));
    follow();
  });
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details")) one.open = true; });
  filter();
  follow();
  document.documentElement.dataset.ready = "true";
})();
