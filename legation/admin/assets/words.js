// Words and signs that all views share.

import { h } from "./dom.js";

export const GRADES = {
  unverified: ["unverified", "encrypted, but nothing proves who answers"],
  "any-name": ["any name", "trusted roots vouch for it, whatever its name"],
  refused: ["refused", "nothing is sent: it cannot be as it was asked for"],
  cleartext: ["cleartext", "no policy asks for TLS"],
  relayed: ["relayed", "as clients send it: no policy asks for TLS"],
  pinned: ["pinned", "TLS, proved by a pinned key or certificate"],
  verified: ["verified", "TLS, proved by a name and trusted roots"],
};

const SIGNS = {
  verified: "M5 7V5a3 3 0 0 1 6 0v2h1v7H4V7zm1.5 0h3V5a1.5 1.5 0 0 0-3 0zM6 10l1.6 1.7L10.4 9",
  pinned: "M10 2l4 4-2 .6-2.2 2.2-.3 3L7 9.5 3 13.5 2.5 13 6.5 9 4 6.5l3-.3L9.4 4z",
  unverified: "M5 7V4a3 3 0 0 1 6 0h-1.5a1.5 1.5 0 0 0-3 0v3H12v7H4V7zm3 2v2m0 1v1",
  "any-name": "M5 7V4a3 3 0 0 1 6 0h-1.5a1.5 1.5 0 0 0-3 0v3H12v7H4V7zm3 2v2m0 1v1",
  refused: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM4 4l8 8",
  cleartext: "M1 8s3-4 7-4 7 4 7 4-3 4-7 4-7-4-7-4zm7-2a2 2 0 1 0 0 4 2 2 0 0 0 0-4",
  relayed: "M1 8h12M9 4l4 4-4 4",
};

/** A grade as a sign with its word. */
export function grade(name, more) {
  const [word, meaning] = GRADES[name] ?? [name, ""];
  return h("span", { class: `grade ${name}`, title: meaning }, sign(name), word, more ? ` ${more}` : "");
}

export function sign(name) {
  return h("svg", { viewBox: "0 0 16 16", class: "sign", "aria-hidden": "true" }, h("path", { d: SIGNS[name] ?? "" }));
}

/** How many there are of each grade, as a bar. */
export function bar(grades) {
  const total = Object.values(grades).reduce((sum, each) => sum + each, 0);
  const parts = Object.keys(GRADES).filter((each) => grades[each]);
  const said = parts.map((each) => `${grades[each]} ${GRADES[each][0]}`).join(", ") || "no backends";
  return h("span", { class: "bar", role: "img", "aria-label": said, title: said },
    parts.map((each) => h("i", { key: each, class: each, width: `${(100 * grades[each]) / total}%` })));
}

export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

export function named(thing) {
  return `${thing.kind} ${thing.namespace ? `${thing.namespace}/` : ""}${thing.name}`;
}

export function path(thing) {
  return [thing.kind, thing.namespace, thing.name].filter(Boolean).map(encodeURIComponent).join("/");
}

/** Roots as people call them; by name they are Envoy's. */
export function rootsOf(name, policy) {
  if (name === "legation/system-roots") return "the machine's roots";
  return name && (policy ? "the policy's own roots" : "its own roots");
}

/** A date in the words that matter: how long until it. */
export function until(written) {
  const days = (new Date(written) - Date.now()) / 86_400_000;
  const day = written.slice(0, 10);
  if (days < 0) return [`expired ${day}`, "bad"];
  if (days < 1) return [`expires within ${count(Math.ceil(days * 24), "hour")}`, "bad"];
  if (days < 30) return [`expires in ${count(Math.floor(days), "day")}`, days < 7 ? "bad" : "warning"];
  return [`until ${day}`, ""];
}

export function ago(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}
