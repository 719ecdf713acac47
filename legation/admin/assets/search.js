// Searching everything: a field with a list below it, both worked by keys alone.

import { h } from "./dom.js";
import { go, here } from "./place.js";
import { named, path } from "./words.js";

const WAIT = 120; // milliseconds without a key before anybody is asked

let hits = null;
let at = 0;
let due = 0;
let asked = "";

const changed = () => dispatchEvent(new Event("changed"));

/** Draw the field, and what was found. */
export function search() {
  const isOpen = hits !== null;
  return h("div", { class: "search", role: "search", key: "search" },
    h("input", { id: "search", type: "search", role: "combobox", autocomplete: "off", spellcheck: "false", placeholder: "Search everything  /", "aria-label": "Search everything",
      "aria-expanded": String(isOpen), "aria-controls": "hits", "aria-autocomplete": "list", "aria-activedescendant": isOpen && hits.length ? `hit-${at}` : null,
      oninput: (event) => type(event.target.value), onkeydown: key, onblur: () => setTimeout(shut, 150) }),
    isOpen && h("ul", { id: "hits", role: "listbox", "aria-label": "Found", key: "hits" },
      hits.map((hit, n) => h("li", { id: `hit-${n}`, key: named(hit.object), role: "option", "aria-selected": String(n === at), onmousedown: (event) => { event.preventDefault(); choose(hit); } },
        h("b", {}, `${hit.object.namespace ? `${hit.object.namespace}/` : ""}${hit.object.name}`), h("span", { class: "quiet" }, [hit.object.kind, ...hit.hostnames.slice(0, 2)].join(" · ")))),
      !hits.length && h("li", { class: "quiet", key: " none", role: "option", "aria-selected": "false" }, "Nothing has these words.")),
    h("p", { class: "unseen", role: "status", key: "count" }, isOpen ? `${hits.length} found` : ""));
}

function type(text) {
  clearTimeout(due);
  asked = text.trim();
  if (asked) due = setTimeout(find, WAIT, asked);
  else shut();
}

async function find(text) {
  const answer = await fetch(`api/v1/search?${new URLSearchParams({ q: text })}`, { cache: "no-store" }).catch(() => null);
  if (!answer?.ok) return;
  const found = await answer.json();
  if (text !== asked) return; // somebody typed on
  [hits, at] = [found, 0];
  changed();
}

function shut() {
  if (hits === null) return;
  [hits, asked] = [null, ""];
  changed();
}

function key(event) {
  if (event.key === "Escape") { event.target.value = ""; shut(); event.target.blur(); }
  else if (hits?.length && event.key === "Enter") choose(hits[at]);
  else if (hits?.length && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    at = (at + (event.key === "ArrowDown" ? 1 : hits.length - 1)) % hits.length;
    changed();
    document.getElementById(`hit-${at}`)?.scrollIntoView({ block: "nearest" });
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

function choose({ object }) {
  const field = document.getElementById("search");
  field.value = "";
  field.blur(); // so that keys work the page again
  shut();
  const gateway = object.kind === "Gateway" ? { view: "map", gateway: `${object.namespace}/${object.name}`, name: null } : {};
  go({ ...gateway, object: path(object), way: null });
}
