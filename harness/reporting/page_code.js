"use strict";
// Two texts of code side by side, and what two compilers made of one kernel. Uses make, counted and scrolling of page_cell.js.

// What differs in a pair of lines: whole words between their common beginning and end.
function sides(good, now) {
  const a = good.match(/\w+|\W/g) || [], b = now.match(/\w+|\W/g) || [];
  let head = 0, tail = 0;
  while (head < Math.min(a.length, b.length) && a[head] === b[head]) head += 1;
  while (tail < Math.min(a.length, b.length) - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  return [["del", a], ["ins", b]].map(([name, words]) => {
    const middle = words.slice(head, words.length - tail).join("");
    return [words.slice(0, head).join(""), middle ? make(name, {}, middle) : null,
      words.slice(words.length - tail).join("")];
  });
}

// kind: the word that is read out, and (mark, class) of the left and of the right side
const LINE_KINDS = {
  " ": ["", ["", ""], ["", ""]],
  "~": ["renumbered", ["~", "renamed"], ["~", "renamed"]],
  "!": ["changed", ["−", "removed"], ["+", "added"]],
  "-": ["removed", ["−", "removed"], ["", ""]],
  "+": ["added", ["", ""], ["+", "added"]],
};

function codeLine([kind, a, good, b, now]) {
  const [word, ...marks] = LINE_KINDS[kind];
  const parts = kind === "!" ? sides(good, now) : [[good], [now]];
  return make("tr", {}, ...[a, b].flatMap((number, side) => {
    const [mark, name] = marks[side];
    const spoken = mark ? [make("span", {class: "unseen"}, `${word}: `)] : [];
    return [make("td", {class: `line ${name}`}, number ? `${mark} ${number}` : ""),
      make("td", {class: name}, ...spoken, ...parts[side])];
  }));
}

// [hunks, lines that changed, lines renumbered, rows left out], or [the sides whose text was not kept]
function difference([hunks, changed, renamed, left], names, label) {
  const renumbered = renamed ? `, ${renamed} only with other register or label numbers (~)` : "";
  const told = `${counted(changed, "line")} changed${renumbered}`;
  if (changed === undefined) {
    const absent = hunks.map((side) => names[side]).join(" nor of the ");
    return [make("p", {class: "hint"}, `It is not the same; the text of the ${absent} run was not kept.`)];
  }
  if (!hunks.length) return [make("p", {class: "hint"}, `${told}: the same code.`)];
  const gap = () => make("tr", {class: "gap"}, make("td", {colspan: 4}, "⋯"));
  const body = hunks.flatMap((hunk, at) => [...(at ? [gap()] : []), ...hunk.map(codeLine)]);
  const widths = ["n", null, "n", null].map((name) => make("col", {class: name}));
  const head = names.map((name) => make("th", {scope: "colgroup", colspan: 2}, name));
  const caption = make("caption", {}, told + (left ? `; ${counted(left, "more line")} not shown` : ""));
  const drawn = make("table", {class: "diff"}, caption, make("colgroup", {}, ...widths),
    make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
  return [scrolling(label, drawn)];
}

// both: [claim, column, kernel, NVIDIA's compiler, ptxas, figures, number of the difference, problem]
function bothCodes(report, columns, path) {
  const T = (number) => report.texts[number];
  const shown = (report.both || []).filter(([claim]) => report.claims[claim][1] === path);
  const one = ([claim, column, kernel, theirs, ptxas, figures, code, problem]) => {
    const name = [report.claims[claim][2], columns[column][0]].filter(Boolean).join(" · ");
    const title = make("h4", {}, make("code", {}, T(kernel)), ` ${name}`);
    if (problem !== null) return [title, make("p", {class: "hint"}, "No SASS: ", make("bdi", {}, T(problem)))];
    const row = ([what, mine, other, worse]) => make("tr", {class: worse ? "changed" : null},
      make("th", {scope: "row"}, what), make("td", {class: "count"}, mine), make("td", {class: "count"}, other),
      make("td", {}, worse ? "above the bar" : ""));
    const head = ["", "ours", T(theirs), ""].map((text) => make("th", {scope: "col"}, text));
    const label = `Figures of ${T(kernel)}`;
    const table = make("table", {class: "facts"}, make("caption", {}, `ptxas ${T(ptxas)}`),
      make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...figures.map(row)));
    return [title, scrolling(label, table), make("details", {}, make("summary", {}, "SASS side by side"),
      ...difference(report.code[code], ["ours", T(theirs)], `SASS of ${T(kernel)}`))];
  };
  return shown.length ? [make("h3", {}, "Machine code of both compilers"), ...shown.flatMap(one)] : [];
}
