// Views that are lists: findings, Envoys, trust and the audit.

import { h } from "./dom.js";
import { known } from "./known.js";
import { object } from "./map.js";
import { go, here, link } from "./place.js";
import { GRADES, ago, count, grade, rootsOf, sign, until } from "./words.js";

const AT_ONCE = 300;
let shown = AT_ONCE;

function asking(address, draw) {
  const found = known(address);
  return found ? draw(found) : [h("p", { class: "quiet" }, "Asking...")];
}

/** What somebody should look at. */
export function findings() {
  return asking("api/v1/map", ({ findings: all, findingsLeftOut }) => [
    h("h1", {}, all.length ? "To look at" : "Nothing to look at"),
    !all.length && h("p", { class: "quiet" }, "Every object that was read is served as it was written."),
    all.map((each, n) => h("article", { class: "finding", key: `${each.object}|${each.where}|${n}` },
      h("p", {}, h("b", { class: "tag" }, each.group), " ", linked(each.object), each.where && h("span", { class: "quiet" }, ` ${each.where}`)),
      h("p", {}, each.message), each.remedy && h("p", { class: "remedy" }, each.remedy))),
    findingsLeftOut > 0 && h("p", { class: "quiet" }, `and ${findingsLeftOut} more`),
  ]);
}

function linked(written) {
  const [kind, name] = written.split(" ");
  const place = [kind, ...(name ?? "").split("/")].map(encodeURIComponent).join("/");
  return name ? h("a", { href: link({ object: place, way: null }) }, written) : h("b", {}, written);
}

/** The Envoys, and what they hold. */
export function envoys() {
  return asking("api/v1/envoys", ({ gateways }) => [
    h("h1", {}, "Envoys"),
    h("p", { class: "quiet" }, "that are connected to this process, what each of them holds, and in short what other replicas tell of theirs"),
    gateways.map((each) => h("section", { class: "panel", key: each.gateway },
      h("h2", {}, h("a", { href: link({ view: "map", gateway: each.gateway }) }, each.gateway), h("span", { class: "quiet" }, each.bound.join(", "))),
      each.process && h("p", { class: "quiet" }, each.process.pid ? `process ${each.process.pid}, started ${count(each.process.starts, "time")}` : `no process: ${each.process.lastExit}`),
      each.envoys.length > 0 && table(["Node", "From", "Connected", "Holds", "State", "Last rejection"], each.envoys.map(envoyRow)),
      elsewhere(each),
      each.handshakes.length > 0 && [h("h3", {}, "TLS handshakes with backends"), table(["Backend", "Done", "Refused"], each.handshakes.map((one) =>
        row(one.backend, h("code", {}, one.backend), one.done.toLocaleString("en"), h("span", { class: "bad" }, Object.entries(one.failed).map(([why, number]) => `${number} ${why}`).join(", ")))))])),
  ]);
}

function elsewhere({ envoys: here, elsewhere: there }) {
  if (!there.present) return !here.length && h("p", { class: "remark warning" }, "No Envoy of this Gateway is connected.");
  const state = there.current ? h("span", { class: "state good" }, "current") : h("span", { class: "state waiting" }, "not all of them current");
  return h("p", {}, `${here.length ? "Others are" : "Its Envoys are"} connected to other replicas: `, state,
    there.refused.map((one) => h("span", { class: "bad" }, ` ${one.resource}: ${one.words}`)));
}

function envoyRow(each) {
  const holds = Object.entries(each.holds).map(([type, number]) => `${number} ${type}`).join(", ");
  const state = each.current ? h("span", { class: "state good" }, "current") : h("span", { class: "state waiting" }, "behind");
  const nack = each.lastNack && h("span", { class: "bad" }, `${each.lastNack.resources.join(", ")}: ${each.lastNack.error}`);
  return row(each.node + each.address, h("b", {}, each.node), each.address, ago(Date.now() / 1000 - each.since), holds, state, nack || h("span", { class: "quiet" }, "none"));
}

/** What is believed and shown, and until when. */
export function trust() {
  return asking("api/v1/trust", (all) => [
    h("h1", {}, "Trust"),
    h("p", { class: "quiet" }, "Certificates that Envoys believe or show, and pins; first what is in use, and of it what ends first."),
    !all.length && h("p", { class: "empty" }, "No object asks for TLS."),
    all.length > 0 && table(["Owner", "For", "Certificate", "Valid", "From", "Used by"], all.slice(0, shown).flatMap(trustRows)),
    all.length > shown && further(all.length),
  ]);
}

function trustRows(each, number) {
  const [namespace, name] = each.name.split("/");
  const owner = [object({ kind: each.kind, namespace, name }), each.port && h("span", { class: "quiet" }, ` port ${each.port}`)];
  const users = each.gateways.join(", ") || h("span", { class: "quiet" }, "nobody");
  const certificates = each.certificates.map((one) => {
    const [words, alarm] = until(one.notAfter);
    const dates = h("span", { class: `when ${one.lapse ? "bad" : alarm}`, title: `${one.notBefore} to ${one.notAfter}` }, one.lapse || words);
    return [one.subject || "no subject", h("code", { class: "print", title: one.fingerprint }, one.fingerprint.slice(0, 16)), dates, `${one.source} ${one.field}`];
  });
  const lonely = each.pins.length > 0 && !each.hasBackupPin && h("span", { class: "warning" }, " and no other");
  const pins = each.pins.map((pin) => [`pinned ${pin.form}`, [h("code", {}, pin.value), lonely], h("span", { class: "quiet" }, "no end"), ""]);
  const roots = each.systemRoots ? [["the machine's own roots", "", h("span", { class: "quiet" }, "as they are there"), ""]] : [];
  return [...certificates, ...pins, ...roots].map(([what, print, valid, source], n) =>
    row(`${number}|${n}`, owner, each.purpose, h("div", {}, what, " ", print), valid, source, users));
}

/** What `legation audit` says. */
export function audit() {
  const only = here().asked.get("grade");
  return asking("api/v1/audit", (all) => {
    const hops = all.filter((hop) => !only || hop.proof.grade === only);
    const counted = Object.groupBy ? Object.groupBy(all, (hop) => hop.proof.grade) : {};
    const weak = all.filter((hop) => ["unverified", "any-name"].includes(hop.proof.grade)).length;
    return [
      h("h1", {}, "Audit"),
      h("p", { class: weak ? "remark alarm" : "quiet" }, saidOf(weak, all)),
      h("div", { class: "chips", role: "group", "aria-label": "Show one grade only" }, Object.keys(GRADES).filter((each) => counted[each]).map((each) =>
        h("button", { key: each, class: `chip ${each}`, "aria-pressed": String(only === each), onclick: () => go({ grade: only === each ? null : each }, true) }, sign(each), `${counted[each].length} ${GRADES[each][0]}`))),
      hops.length > 0 && table(["Proof", "Backend", "By", "Policy", "What proves it"], hops.slice(0, shown).map(hopRow)),
      hops.length > shown && further(hops.length),
    ];
  });
}

/** The same in a sentence, as `legation audit` ends; what has no TLS of ours is neither verified nor unverified. */
function saidOf(weak, all) {
  if (!all.length) return "No backend is led to.";
  const bare = all.filter((hop) => ["cleartext", "relayed"].includes(hop.proof.grade)).length;
  const words = weak ? "not verified as they should be" : "unverified";
  return `${weak} of ${count(all.length, "way")} to a backend ${words}${bare ? `, ${bare} without TLS of ours` : ""}.`;
}

function hopRow({ gateway, cluster, proof }) {
  const policy = proof.policy && object({ kind: "BackendTLSPolicy", namespace: proof.policy.split("/")[0], name: proof.policy.split("/")[1] });
  const parts = [proof.roots && `${proof.names.join(" or ") || "any name"} by ${rootsOf(proof.roots, proof.policy)}`, proof.pins && (proof.pins > 1 ? `one of ${proof.pins} pins` : "its only pin")];
  const words = parts.filter(Boolean).join(" and ") || (proof.serverName ? "nothing" : GRADES[proof.grade][1]);
  return row(gateway + cluster, grade(proof.grade), h("b", { title: cluster }, proof.backend), h("a", { href: link({ view: "map", gateway }) }, gateway), policy || h("span", { class: "quiet" }, "none"), words);
}

function further(all) {
  return h("button", { class: "more", onclick: () => { shown += AT_ONCE; dispatchEvent(new Event("changed")); } }, `${count(all - shown, "more row")}: show the next`);
}

function table(titles, rows) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": titles.join(", ") }, h("table", {},
    h("thead", {}, h("tr", {}, titles.map((title) => h("th", { key: title, scope: "col" }, title)))), h("tbody", {}, rows.map((each) => titled(each, titles)))));
}

/** Have each cell know its column's title, which stands before it where the page is narrow. */
function titled(described, titles) {
  const children = described.children.map((cell, n) => ({ ...cell, attributes: { "data-title": titles[n] } }));
  return { ...described, children };
}

function row(key, ...cells) {
  return h("tr", { key }, cells.map((cell, n) => h("td", { key: n }, cell)));
}
