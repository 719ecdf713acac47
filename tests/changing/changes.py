"""Every way in which a user changes a shop, each by chance: the one list of them."""

from collections.abc import Callable
from itertools import permutations
from random import Random

from msgspec import Struct, structs

from tests.changing.shop import ASIDE, EXTRAS, NAMES, OPTIONS, PORTS, SPARE, Rule, Shop, Store

Change = Callable[[Shop, Random], Shop]


class Choices(Struct, frozen=True):
    """What there is to choose from."""

    pods: tuple[str, ...]
    hosts: tuple[str, ...]
    authorities: tuple[str, ...]


CHOICES = Choices(tuple(f"p{n}" for n in range(6)), tuple(f"h{n}.test" for n in range(6)), ("a", "b"))
PATHS = ("/", "/cart", "/cart/pay")
MOST_WEIGHT = 9
POLICIES = 2  # names that a Service's policy may have
ONE_HALF = 0.5
CERTIFICATES = 3


def repoint(shop: Shop, chance: Random) -> Shop:
    """Lead a rule elsewhere."""
    return _with_rule(shop, chance, lambda rule: structs.replace(rule, shares=_shares(shop, chance)))


def reweigh(shop: Shop, chance: Random) -> Shop:
    """Give a rule's stores other parts; a part of nothing included."""

    def weighed(rule: Rule) -> Rule:
        shares = tuple((name, chance.randrange(MOST_WEIGHT)) for name, _ in rule.shares)
        return structs.replace(rule, shares=shares)

    return _with_rule(shop, chance, weighed, lambda rule: len(rule.shares) > 1)


def refilter(shop: Shop, chance: Random) -> Shop:
    """Have a filter set another value."""
    return _with_rule(shop, chance, lambda rule: structs.replace(rule, header=chance.randrange(100)))


def extend(shop: Shop, chance: Random) -> Shop:
    """Have other filters change the answer, the request or who may ask, or answer in place of the stores."""
    return _with_rule(shop, chance, lambda rule: structs.replace(rule, extra=chance.choice(tuple(EXTRAS))))


def limit(shop: Shop, chance: Random) -> Shop:
    """Give requests another time."""
    return _with_rule(shop, chance, lambda rule: structs.replace(rule, timeout=chance.randrange(50, 100)))


def copy(shop: Shop, chance: Random) -> Shop:
    """Send copies of requests to a store, or to none."""
    to = chance.choice(("", *sorted(shop.stores)))
    return _with_rule(shop, chance, lambda rule: structs.replace(rule, copied_to=to))


def insert(shop: Shop, chance: Random) -> Shop:
    """Put a rule before the others, or take one away."""
    host, rules = _site(shop, chance)
    path = chance.choice(PATHS)
    others = tuple(rule for rule in rules if rule.path != path)
    if len(others) == len(rules):
        others = (Rule(path, _shares(shop, chance)), *rules)
    return _with_site(shop, host, others or rules)


def reorder(shop: Shop, chance: Random) -> Shop:
    """Write the rules of a route in another order."""
    host, rules = _site(shop, chance)
    others = [each for each in permutations(rules) if each != rules]
    return _with_site(shop, host, chance.choice(others) if others else rules)


def open_or_close(shop: Shop, chance: Random) -> Shop:
    """Add a route for a host that has none, or take one away."""
    host = chance.choice(CHOICES.hosts)
    if host not in shop.sites:
        return _with_site(shop, host, (Rule("/", _shares(shop, chance)),))
    others = {name: rules for name, rules in shop.sites.items() if name != host}
    return structs.replace(shop, sites=others or shop.sites)


def exchange_hosts(shop: Shop, chance: Random) -> Shop:
    """Have two routes swap their hosts."""
    one, other = (chance.choice(sorted(shop.sites)) for _ in range(2))
    return structs.replace(shop, sites={**shop.sites, one: shop.sites[other], other: shop.sites[one]})


def exchange_listeners(shop: Shop, _: Random) -> Shop:
    """Have the two HTTPS listeners swap their hostnames."""
    return structs.replace(shop, names=shop.names[::-1])


def spare_listener(shop: Shop, _: Random) -> Shop:
    """Add a listener on a port of its own, or take it away."""
    return structs.replace(shop, spare="" if shop.spare else SPARE)


def move_listener(shop: Shop, _: Random) -> Shop:
    """Have a listener at another port."""
    return structs.replace(shop, spare=SPARE if shop.spare == ASIDE else ASIDE)


def renew_certificate(shop: Shop, chance: Random) -> Shop:
    """Show another certificate to clients."""
    return structs.replace(shop, certificate=chance.randrange(CERTIFICATES))


def rename(shop: Shop, chance: Random) -> Shop:
    """Give a Service another name, and have every route follow."""
    name = chance.choice(sorted(shop.stores))
    new = f"s{shop.number}"
    stores = {new if each == name else each: store for each, store in shop.stores.items()}
    sites = {host: tuple(_renamed(rule, name, new) for rule in rules) for host, rules in shop.sites.items()}
    return structs.replace(shop, stores=stores, sites=sites)


def renumber(shop: Shop, chance: Random) -> Shop:
    """Have a Service at another port, and every route follow."""
    name = chance.choice(sorted(shop.stores))
    return _with(shop, name, port=chance.choice([each for each in PORTS if each != shop.stores[name].port]))


def rescale(shop: Shop, chance: Random) -> Shop:
    """Have other pods behind a Service; now and then none."""
    number = chance.choice((0, 1, 1, 2, 3))
    return _with_store(shop, chance, pods=tuple(chance.sample(CHOICES.pods, number)))


def roll_out(shop: Shop, chance: Random) -> Shop:
    """Replace one pod by another."""
    spare = chance.choice(CHOICES.pods)
    name = chance.choice(sorted(shop.stores))
    pods = tuple(each for each in shop.stores[name].pods[1:] if each != spare)
    return _with(shop, name, pods=(*pods, spare))


def retrust(shop: Shop, chance: Random) -> Shop:
    """Trust one authority more, or one less; both most of the time, so that most traffic goes on."""
    name = chance.choice(sorted(shop.stores))
    both = (CHOICES.authorities,) * 4
    others = [each for each in (*both, ("a",), ("b",)) if frozenset(each) != shop.stores[name].trusts]
    return _with(shop, name, trusts=frozenset(chance.choice(others)))


def rename_proof(shop: Shop, chance: Random) -> Shop:
    """Ask for another name of the certificate, or for one of several."""
    return _with_store(shop, chance, hostname=chance.choice(NAMES), alternatives=chance.random() < ONE_HALF)


def set_options(shop: Shop, chance: Random) -> Shop:
    """Ask for other versions or curves of TLS."""
    return _with_store(shop, chance, options=chance.choice(tuple(OPTIONS)))


def replace_policy(shop: Shop, chance: Random) -> Shop:
    """Have a policy of another name say what a Service's policy says."""
    return _with_store(shop, chance, policy=chance.randrange(POLICIES))


def remove_policy(shop: Shop, chance: Random) -> Shop:
    """Take a Service's policy away, or give it one again."""
    name = chance.choice(sorted(shop.stores))
    return _with(shop, name, policy=0 if shop.stores[name].policy is None else None)


ALL: tuple[Change, ...] = (
    repoint,
    reweigh,
    refilter,
    extend,
    limit,
    copy,
    insert,
    reorder,
    open_or_close,
    exchange_hosts,
    exchange_listeners,
    spare_listener,
    move_listener,
    renew_certificate,
    rename,
    renumber,
    rescale,
    roll_out,
    retrust,
    rename_proof,
    set_options,
    replace_policy,
    remove_policy,
)

MOVING: tuple[Change, ...] = (repoint, rename, renumber, rescale, roll_out, replace_policy)


def _site(shop: Shop, chance: Random) -> tuple[str, tuple[Rule, ...]]:
    host = chance.choice(sorted(shop.sites))
    return host, shop.sites[host]


def _with_site(shop: Shop, host: str, rules: tuple[Rule, ...]) -> Shop:
    return structs.replace(shop, sites={**shop.sites, host: rules})


def _with_rule(
    shop: Shop, chance: Random, changed: Callable[[Rule], Rule], best: Callable[[Rule], bool] = bool
) -> Shop:
    """Change one of a host's rules, and one of the best if there are any."""
    host, rules = _site(shop, chance)
    chosen = chance.choice([rule for rule in rules if best(rule)] or rules)
    return _with_site(shop, host, tuple(changed(rule) if rule is chosen else rule for rule in rules))


def _with_store(shop: Shop, chance: Random, **fields: object) -> Shop:
    return _with(shop, chance.choice(sorted(shop.stores)), **fields)


def _with(shop: Shop, name: str, **fields: object) -> Shop:
    store: Store = structs.replace(shop.stores[name], **fields)
    return structs.replace(shop, stores={**shop.stores, name: store})


def _shares(shop: Shop, chance: Random) -> tuple[tuple[str, int], ...]:
    names = chance.sample(sorted(shop.stores), chance.choice((1, 2, 2)))
    return tuple((name, chance.randrange(1, MOST_WEIGHT)) for name in names)


def _renamed(rule: Rule, name: str, new: str) -> Rule:
    shares = tuple((new if each == name else each, weight) for each, weight in rule.shares)
    return structs.replace(rule, shares=shares, copied_to=new if rule.copied_to == name else rule.copied_to)
