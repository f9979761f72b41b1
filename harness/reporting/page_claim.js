"use strict";
// The page of one claim: what each of its cells said, as strips over time. Uses what page_cell.js and page_code.js have.

// The cells of a repro's path, by case and column: [fragment, cell].
function cellsOf(report, path) {
  return Object.entries(report.cells).filter(([, cell]) => report.claims[cell.claim][1] === path);
}

function drawClaim(report, columns, path) {
  const T = (number) => report.texts[number];
  const cells = cellsOf(report, path);
  const [text] = report.claims[cells[0][1].claim];
  const prose = (said) => make("bdi", {},
    ...said.split(/`([^`]+)`/).map((part, at) => (at % 2 ? make("code", {}, part) : part)));
  const moments = cells.flatMap(([, cell]) =>
    (cell.history || []).flatMap(([, date, , , , first]) => [Date.parse(T(first)), Date.parse(T(date))]))
    .filter((moment) => !Number.isNaN(moment));
  const begin = Math.min(...moments), end = Math.max(...moments);
  const day = (moment) => new Date(moment).toISOString().slice(0, 10);
  const WIDTH = 560, LEAST = 6;

  // A rectangle for each stretch of runs that said the same, from its first run to its newest.
  function strip(cell, name) {
    const at = (moment) => (end > begin ? ((moment - begin) / (end - begin)) * (WIDTH - LEAST) : 0);
    const told = (cell.history || []).map(([, date, said, reason, , first, runs]) => {
      const days = [...new Set([T(first).slice(0, 10), T(date).slice(0, 10)])].join(" to ");
      const why = T(reason) ? `: ${T(reason)}` : "";
      return [Date.parse(T(first)), Date.parse(T(date)), T(said), `${days}: ${T(said)}${why}, ${counted(runs, "run")}`];
    }).filter(([first, last]) => !Number.isNaN(first + last));
    const label = `History of ${name}: ${told.map(([, , , said]) => said).join("; ") || "none"}`;
    const svg = make("svg", {class: "timeline", role: "img", viewBox: `0 0 ${WIDTH} 16`, "aria-label": label});
    for (const [first, last, said, title] of told) {
      svg.append(make("rect", {x: at(first), y: 1, width: Math.max(at(last) - at(first), 0) + LEAST, height: 14, rx: 1,
        class: said}, make("title", {}, title)));
    }
    return svg;
  }

  const row = ([link, cell]) => {
    const where = columns[cell.column].slice(0, 3).join(" · ");
    const name = report.claims[cell.claim][2];
    const [symbol] = report.states[cell.state];
    const state = make("a", {href: `#${link}`, class: `state ${cell.state}`},
      make("span", {"aria-hidden": "true"}, symbol), ` ${cell.state}`);
    const since = cell.changed && cell.changed !== cell.first ? `changed ${cell.changed}` : "";
    const seen = cell.first ? `${cell.first} to ${cell.last}` : "never";
    return make("tr", {},
      make("th", {scope: "row"}, make("bdi", {}, where), " ", make("code", {}, name)),
      make("td", {}, state), make("td", {}, strip(cell, `${where} ${name}`.trim())),
      make("td", {class: "dates"}, seen, since ? make("span", {class: "hint"}, ` ${since}`) : null));
  };
  const heads = ["where", "state", moments.length ? `${day(begin)} to ${day(end)}` : "history", "first and last seen"];
  const body = [...cells].sort(([, a], [, b]) => a.claim - b.claim || a.column - b.column).map(row);
  return [
    make("h2", {id: "cell-title", tabindex: "-1"}, prose(text)),
    make("p", {class: "sub"}, make("span", {class: "mono"}, path), ` · ${counted(cells.length, "cell")}`),
    make("h3", {}, "History"),
    make("div", {class: "wide", tabindex: "0", role: "group", "aria-label": "History of this claim"},
      make("table", {class: "claims"}, make("caption", {class: "unseen"}, "What each cell of this claim said over time"),
        make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", {scope: "col"}, head)))),
        make("tbody", {}, ...body))),
    ...bothCodes(report, columns, path),
  ];
}
