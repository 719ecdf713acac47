// The page: asks what is wanted every second, and draws what is known.

import * as beside from "./beside.js";
import { h, patch } from "./dom.js";
import { ask, follow, known, lostSince } from "./known.js";
import * as lists from "./lists.js";
import * as map from "./map.js";
import { VIEWS, here, link } from "./place.js";
import { search } from "./search.js";
import { count } from "./words.js";

const TITLES = { map: "Map", findings: "Findings", envoys: "Envoys", trust: "Trust", audit: "Audit" };
const DRAWN = { map: map.view, findings: lists.findings, envoys: lists.envoys, trust: lists.trust, audit: lists.audit };

function wanted() {
  const { view } = here();
  const own = { map: map.addresses(), findings: [], envoys: [], trust: ["api/v1/trust"], audit: ["api/v1/audit"] }[view];
  return ["api/v1/map", "api/v1/envoys", ...own, ...beside.addresses()];
}

function draw() {
  const { view } = here();
  document.title = `${TITLES[view]} - Legation`;
  patch(document.getElementById("page"), [
    h("a", { class: "skip", href: "#main", key: "skip", onclick: (event) => { event.preventDefault(); document.getElementById("main").focus(); } }, "Skip to what is shown"),
    h("header", { class: "top", key: "top" },
      h("a", { class: "home", href: "#/map" }, h("b", {}, "Legation"), h("span", { class: "quiet" }, known("api/v1/map")?.version ?? "")),
      h("nav", { "aria-label": "Views", key: "views" }, VIEWS.map((each, n) => tab(each, view, n + 1))),
      search(), state()),
    h("div", { class: "body", key: "body" },
      h("main", { id: "main", tabindex: "-1", class: view, key: view }, DRAWN[view]()), beside.beside()),
  ]);
}

function tab(each, view, number) {
  const found = known("api/v1/map")?.findings.length;
  return h("a", { key: each, href: link({ view: each, gateway: "", object: null, way: null }), "aria-current": each === view && "page", title: `key ${number}` },
    TITLES[each], each === "findings" && found > 0 && h("span", { class: "number" }, String(found)));
}

function state() {
  const [now, envoys, lost] = [known("api/v1/map"), known("api/v1/envoys"), lostSince()];
  const all = (envoys?.gateways ?? []).flatMap((each) => each.envoys);
  const behind = all.filter((each) => !each.current).length;
  const words = lost ? ["bad", `no answer since ${lost.toLocaleTimeString()}: shown as it was`]
    : !now ? ["waiting", "asking"]
    : !now.ready ? ["waiting", "nothing was read yet"]
    : envoys?.stale.length ? ["warning", `out of date: ${envoys.stale.join(", ")}`]
    : behind ? ["waiting", `${behind} of ${count(all.length, "Envoy")} behind`]
    : now.gateways.length && envoys && !all.length ? ["waiting", "live, no Envoy is connected here"]
    : ["good", `live, ${count(all.length, "Envoy")}`];
  return h("p", { class: `state ${words[0]}`, role: "status", key: "state" }, words[1]);
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && here().asked.get("object")) beside.close();
  if (/^(input|textarea|select)$/i.test(event.target.tagName)) return;
  if (event.key === "/") document.getElementById("search").focus();
  else if (VIEWS[event.key - 1]) location.hash = link({ view: VIEWS[event.key - 1], gateway: "", object: null, way: null });
  else return;
  event.preventDefault();
}

let opener = null; // what had the focus before something was opened beside it

function moved() {
  const [was, is] = [document.querySelector(".beside") !== null, here().asked.has("object")];
  if (is && !was) opener = document.activeElement;
  draw();
  if (is && !was) document.querySelector(".beside").focus({ preventScroll: true });
  if (was && !is && opener?.isConnected) opener.focus({ preventScroll: true });
  ask();
}

addEventListener("hashchange", moved);
addEventListener("changed", () => { draw(); ask(); });
addEventListener("keydown", key);
draw();
follow(wanted, draw);
