"use strict";
// The page of one cell, drawn from the report's data. Every text reaches it as a text node.
// report: {claims: [[text, repro, case]], cells: {fragment: cell}, texts, facts: [[[name, value]]], code, states};
// numbers in facts and cells stand for texts. A run is [id, date, facts].

// An element with attributes (null: left out) and children: nodes, texts and nulls.
function make(name, attributes = {}, ...children) {
  const drawn = ["svg", "rect", "text", "title"].includes(name);
  const element = document.createElementNS(`http://www.w3.org/${drawn ? "2000/svg" : "1999/xhtml"}`, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}
const counted = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

// "0, 3, 8-31"
function ranges(numbers) {
  const found = [];
  for (const number of numbers) {
    if (found.length && found.at(-1)[1] === number - 1) found.at(-1)[1] = number;
    else found.push([number, number]);
  }
  return found.map(([a, b]) => (a === b ? `${a}` : `${a}-${b}`)).join(", ");
}

function scrolling(label, ...children) {
  return make("div", {class: "wide", tabindex: "0", role: "group", "aria-label": label}, ...children);
}

// The page of a cell. `address` is its fragment: `address:23` shows line 23 of its source.
function drawCell(report, columns, cell, address, say) {
  const T = (number) => report.texts[number];
  const bdi = (text) => make("bdi", {}, text);
  // A sentence, with what stands between backticks as code.
  const prose = (text) => make("bdi", {},
    ...text.split(/`([^`]+)`/).map((part, at) => (at % 2 ? make("code", {}, part) : part)));
  const heading = (...parts) => make("h3", {}, ...parts);
  const moment = (date) => make("time", {datetime: date}, date.slice(0, 19).replace("T", " "));

  function table(name, caption, heads, body) {
    const head = make("tr", {}, ...heads.map((text) => make("th", {scope: "col"}, text)));
    return scrolling(caption, make("table", {class: name},
      make("caption", {class: "unseen"}, caption), make("thead", {}, head), make("tbody", {}, ...body)));
  }

  function verdict() {
    const days = cell.age === "today" ? "on the day of the newest run" : `${cell.age} before the newest run`;
    const validated = cell.validated ? ["Last validated by hardware here ", moment(cell.validated), `, ${days}.`]
      : ["Hardware has never passed it here."];
    const seen = cell.first
      ? [make("p", {class: "sub"}, `First seen ${cell.first}, last seen ${cell.last}; it ends so since ${cell.changed}.`)]
      : [];
    const only = "This column is of an emulator: its verdicts are predictions, not validations.";
    const [symbol, meaning] = report.states[cell.state];
    return make("div", {class: `verdict ${cell.state}`},
      make("span", {class: `state ${cell.state}`}, make("span", {"aria-hidden": "true"}, symbol), ` ${cell.state}`),
      ": ", prose(T(cell.reason) || meaning),
      make("p", {class: "sub"}, ...validated), ...seen, cell.hardware ? null : make("p", {}, only));
  }

  function command(text) {
    const button = make("button", {type: "button", "aria-label": `Copy the command ${text}`}, "Copy");
    const shown = make("pre", {}, text);
    button.addEventListener("click", async () => {
      let done = true;
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        getSelection().selectAllChildren(shown);
        done = document.execCommand("copy");
      }
      button.textContent = done ? "Copied" : "Selected";
      say(done ? "The command is copied." : "The command is selected: copy it with Ctrl+C.");
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    return make("div", {class: "command"}, shown, button);
  }

  // --- provenance: what the newest run is held against, the first bad one, and the newest ---------------------------
  function provenance() {
    if (!cell.newest) return [];
    const asked = [[T(cell.base_name), cell.base], ["first bad", cell.bad], ["newest", cell.newest]];
    const runs = asked.filter(([, run]) => run);
    const kept = runs.filter(([, run], at) => runs.findIndex(([, other]) => other[0] === run[0]) === at);
    const called = (id) => runs.filter(([, run]) => run[0] === id).map(([name]) => name).join(" and ");
    const heads = ["field", ...kept.map(([, run]) => `${called(run[0])}: ${T(run[1]).slice(0, 10)}, ${T(run[0])}`)];
    const maps = kept.map(([, run]) => new Map(report.facts[run[2]]));
    const names = [...new Set(maps.flatMap((map) => [...map.keys()]))];
    const differs = (name) => maps.some((map) => map.get(name) !== maps[0].get(name));
    const row = (name) => make("tr", {class: differs(name) ? "changed" : null}, make("th", {scope: "row"}, T(name)),
      ...maps.map((map) => make("td", {}, bdi(map.has(name) ? T(map.get(name)) : "—"))));
    if (kept.length < 2) {
      return [heading("Provenance"), table("facts", "Provenance", heads, names.map(row))];
    }
    const changed = names.filter(differs);
    const equal = names.filter((name) => !differs(name));
    const made = [heading(`Differences from the ${cell.base ? T(cell.base_name) : "first bad"} run`)];
    if (changed.length) made.push(table("facts", "Fields that changed", heads, changed.map(row)));
    else made.push(make("p", {}, "No field of the provenance changed."));
    if (equal.length) {
      const summary = make("summary", {}, `${counted(equal.length, "field")} did not change`);
      made.push(make("details", {}, summary, table("facts", "Fields that did not change", heads, equal.map(row))));
    }
    return made;
  }

  function cause() {
    if (!cell.cause) return [];
    const made = [heading("Cause"), make("p", {}, prose(cell.cause))];
    if (cell.known) made.push(make("ul", {}, ...cell.known.map((text) => make("li", {}, bdi(text)))));
    if (cell.tell) {
      const told = "The cheapest runs that would tell, in this order; stop at the first whose verdict changes:";
      made.push(make("p", {}, told));
      const one = ([text, tells]) => make("li", {}, command(text), make("p", {class: "hint"}, bdi(tells)));
      made.push(make("ol", {class: "tell"}, ...cell.tell.map(one)));
    }
    return made;
  }

  // --- what was found, and the source with the lines that it names -------------------------------------------------
  const source = cell.source === undefined ? [] : T(cell.source).replace(/\n$/, "").split("\n");
  const lineOf = (number) => make("a", {href: `#${address}:${number}`}, String(number));

  // A text whose lines of the repro's file are links to its source.
  function withLines(text) {
    const repro = report.claims[cell.claim][1];
    const named = new RegExp(`(?<=${repro.replace(/\W/g, "\\$&")}:|(?<!PTX )\\bline )\\d+`, "g");
    const parts = [];
    let at = 0;
    for (const found of source.length ? text.matchAll(named) : []) {
      if (Number(found[0]) > source.length) continue;
      parts.push(text.slice(at, found.index), lineOf(found[0]));
      at = found.index + found[0].length;
    }
    return make("bdi", {}, ...parts, text.slice(at));
  }

  function finding() {
    if (!cell.finding) return [];
    return [heading("Finding"), scrolling("Finding", make("pre", {class: "finding"}, withLines(cell.finding)))];
  }

  function sources() {
    if (!source.length) return [];
    const row = (text, at) => make("li", {id: `line-${at + 1}`, tabindex: "-1"}, text || " ");
    return [heading("Source"), scrolling("Source", make("ol", {class: "source"}, ...source.map(row)))];
  }

  // --- outputs: a strip of lanes, filled where elements differ, the darker the more ---------------------------------
  function strip(lanes) {
    const box = 20, most = Math.max(...lanes);
    const differ = ranges(lanes.flatMap((n, lane) => (n ? [lane] : [])));
    const svg = make("svg", {class: "strip", role: "img", viewBox: `0 0 ${lanes.length * box} 32`,
      width: lanes.length * box, "aria-label": `Lanes that differ: ${differ}`});
    lanes.forEach((n, lane) => {
      const x = lane * box;
      if (lane % 4 === 0) svg.append(make("text", {x, y: 9}, String(lane)));
      const said = make("title", {}, `lane ${lane}: ${n ? `${counted(n, "element")} differ` : "the same"}`);
      const shade = n ? `d${Math.ceil((3 * n) / most)}` : null;
      svg.append(make("rect", {x: x + .5, y: 13.5, width: box - 4, height: box - 4, rx: 1, class: shade}, said));
    });
    return [svg, make("p", {class: "hint"}, `Filled: the lanes that differ, ${differ}.`)];
  }

  function outputs() {
    const made = cell.outputs ? [heading("Differences")] : [];
    for (const [name, message, lanes, values, line] of cell.outputs || []) {
      const named = line && line <= source.length ? [" (named at line ", lineOf(line), ")"] : [];
      made.push(make("p", {}, make("code", {}, name), ...named, ": ", prose(message)));
      if (lanes.some(Boolean)) made.push(...strip(lanes));
      if (values.length) {
        const row = ([index, where, expected, got]) => make("tr", {}, make("th", {scope: "row", class: "mono"}, index),
          make("td", {}, where), make("td", {class: "mono"}, expected), make("td", {class: "mono"}, got));
        const caption = `The first elements of ${name} that differ`;
        made.push(table("values", caption, ["index", "where", "expected", "got"], values.map(row)));
      }
    }
    return made;
  }

  // --- outcomes of a program that was run often ---------------------------------------------------------------------
  function seen() {
    if (!cell.seen) return [];
    const runs = cell.seen.reduce((sum, [count]) => sum + count, 0);
    const row = ([count, text]) => make("tr", {class: count ? null : "never"},
      make("td", {class: "count"}, count ? String(count) : "never"),
      make("td", {}, make("meter", {min: 0, max: runs, value: count, "aria-hidden": "true"})),
      make("th", {scope: "row", class: "mono"}, bdi(text)));
    const caption = `How often each outcome was seen in ${counted(runs, "run")}`;
    return [heading(`Outcomes seen in ${counted(runs, "run")}`),
      table("seen", caption, ["seen", "", "outcome"], cell.seen.map(row))];
  }

  // --- code: two columns, only hunks that changed -------------------------------------------------------------------
  function code() {
    return (cell.code || []).flatMap(([kind, kernel, number]) => {
      const names = [T(cell.base_name), "newest"];
      const title = heading(`${kind} of `, make("code", {}, T(kernel)));
      return [title, ...difference(report.code[number], names, `${kind} of ${T(kernel)}`)];
    });
  }

  // --- history, newest first ---------------------------------------------------------------------------------------
  function past() {
    if (!cell.history) return [];
    const rows = cell.history.map(([id, date, said, reason, digest, first, runs], at, all) => {
      const days = [T(first), T(date)].map((text) => text.slice(0, 10));
      const when = runs === 1 ? T(date).slice(0, 16).replace("T", " ") : [...new Set(days)].join(" to ");
      const question = at && all[at - 1][4] !== digest ? "changed" : "";
      return make("tr", {},
        make("td", {class: "dates"}, make("time", {datetime: T(date)}, when)),
        make("td", {class: "count"}, counted(runs, "run")), make("td", {}, T(said)), make("td", {}, bdi(T(reason))),
        make("td", {}, make("code", {}, T(digest)), " ", question), make("td", {class: "mono"}, bdi(T(id))));
    });
    const heads = ["when", "runs", "verdict", "why", "question", "newest run"];
    const made = [heading(`History: ${counted(cell.runs, "run")}`),
      table("runs", "History of this cell, newest first", heads, rows.reverse())];
    if (cell.earlier) made.push(make("p", {class: "hint"}, `${counted(cell.earlier, "earlier row")} left out`));
    return made;
  }

  const [claim, repro, name] = report.claims[cell.claim];
  const where = columns[cell.column].join(" · ");
  return [
    make("h2", {id: "cell-title", tabindex: "-1"}, prose(claim)),
    make("p", {class: "sub"},
      make("a", {href: "#/" + repro.split("/").map(encodeURIComponent).join("/"), class: "mono"}, repro), " ", make("code", {}, name), " · ", bdi(where)),
    verdict(),
    ...(cell.rerun ? [heading("Run it again"), command(cell.rerun)] : []),
    ...finding(), ...outputs(), ...seen(), ...cause(), ...sources(), ...provenance(), ...code(), ...past(),
  ];
}
