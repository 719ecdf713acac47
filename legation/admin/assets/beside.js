// What is open beside a view: one object, what it says of itself, and what proves it.

import { h } from "./dom.js";
import { known, refused } from "./known.js";
import { object, reached } from "./map.js";
import { go, here, link } from "./place.js";
import { GRADES, grade, named, rootsOf, until } from "./words.js";

const VERDICTS = { good: "is so", bad: "is not as it should be", alarm: "nobody should miss this", warning: "is worth knowing", waiting: "is waited for" };

const addressOf = (asked) => `api/v1/object/${asked}`;

/** Name what has to be known of it. */
export function addresses() {
  const asked = here().asked.get("object");
  return asked ? [addressOf(asked)] : [];
}

export function close() {
  go({ object: null, way: null }, true);
}

/** Draw it, if anything is open. */
export function beside() {
  const asked = here().asked.get("object");
  if (!asked) return null;
  const title = asked.split("/").map(decodeURIComponent);
  const found = known(addressOf(asked));
  const cluster = here().asked.get("way");
  return h("aside", { class: "beside", "aria-label": "Details", key: "beside", tabindex: "-1" },
    h("header", {}, h("p", { class: "quiet" }, title[0]), h("h2", {}, title.slice(1).join("/")),
      h("button", { class: "close", onclick: close, "aria-label": "Close details (Escape)" }, "×")),
    cluster && way(reached(cluster)),
    found ? portrait(found) : h("p", { class: "quiet" }, refused(addressOf(asked)) ?? "Asking..."));
}

function way(to) {
  if (!to) return null;
  const { proving } = to;
  const rows = [
    ["proof", grade(proving.grade)],
    ["that is", GRADES[proving.grade][1]],
    ["in short", proving.words],
    ["decided by", proving.decidedBy && object(proving.decidedBy)],
    ["server name", proving.serverName],
    ["certificate for", proving.names.join(" or ")],
    ["proved by", rootsOf(proving.roots, proving.decidedBy?.kind === "BackendTLSPolicy")],
    ["roots", proving.expires && until(proving.expires)[0]],
    ["pins", proving.pins || null],
    ["shows it", proving.shows && object(proving.shows)],
    ["spoken", to.protocol],
    ["endpoints", to.endpoints === null ? to.dnsName : String(to.endpoints)],
    ["cluster", h("code", {}, to.cluster)],
  ];
  return h("section", { class: `what ${proving.grade}`, key: "way" }, h("h3", {}, "How it is reached"), list(rows));
}

function list(rows) {
  return h("dl", {}, rows.filter(([, value]) => value).map(([name, value]) => [h("dt", { key: name }, name), h("dd", { key: `${name}=` }, value)]));
}

function portrait(found) {
  return [
    found.gateways.length > 0 && part("On the map", found.gateways.flatMap((gateway) =>
      (found.hostnames.length ? found.hostnames : [""]).map((name) =>
        h("a", { key: named(gateway) + name, href: link({ view: "map", gateway: `${gateway.namespace}/${gateway.name}`, name }) }, [name, `${gateway.namespace}/${gateway.name}`].filter(Boolean).join(" by "))))),
    found.says.map((each) => part(each.about ? `Says of ${each.about}` : "Says of itself", each.conditions.map(condition))),
    !found.says.length && h("p", { class: "quiet", key: "silent" }, "It has no status of ours."),
    found.leadsTo.length > 0 && part("Leads to", found.leadsTo.map((each) => object(each))),
    found.ledToBy.length > 0 && part("Led to or governed by", found.ledToBy.map((each) => object(each))),
  ];
}

function part(title, content) {
  return h("section", { key: title }, h("h3", {}, title), h("div", { class: "list" }, content));
}

function condition(each) {
  return h("div", { class: `condition ${each.verdict}`, key: each.type },
    h("b", { title: VERDICTS[each.verdict] }, `${each.type} ${each.status === "True" ? "yes" : each.status === "False" ? "no" : "unknown"}`),
    each.reason !== each.type && h("span", { class: "quiet" }, ` ${each.reason}`),
    each.message && h("p", {}, each.message), each.remedy && h("p", { class: "remedy" }, each.remedy),
    each.since && h("p", { class: "quiet" }, `since ${each.since.replace("T", " ").replace("Z", " UTC")}`));
}
