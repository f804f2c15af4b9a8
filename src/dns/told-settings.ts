import type { DnsConfig, DnsFigures, DnsList, ListInUse, ResolverSettings } from '../core/model.js';
import { upstreamFault, upstreamLabel } from '../wire/dns-values.js';
import type { ListState } from './blocklists.js';
import { readLineOfAnEngine } from './line-rules.js';
import { readRules } from './list-lines.js';

/** The source of the rules in the settings. */
export const USER_RULES = 'user rules';

interface PlacedList extends DnsList {
  readonly isAllowing: boolean;
}

/** Returns all lists, allowing ones last. */
function listsOf({ lists, allowlists }: ResolverSettings): readonly PlacedList[] {
  const placed = (of: readonly DnsList[], isAllowing: boolean) => of.map((list) => ({ ...list, isAllowing }));
  return [...placed(lists, false), ...placed(allowlists, true)];
}

/** Returns the enabled lists, allowing ones last. */
export function usedLists(settings: ResolverSettings): readonly PlacedList[] {
  return listsOf(settings).filter(({ enabled }) => enabled);
}

/** Returns all lists with what is known of the content of those that are used. */
export function listsInUse(settings: ResolverSettings, read: readonly ListState[]): readonly ListInUse[] {
  const states = new Map(read.map((state) => [state.listed, state]));
  return listsOf(settings).map((list) => {
    const { names = 0, fetchedAt = null, error = null } = (list.enabled && states.get(list.url)) || {};
    return { ...list, names: fetchedAt === null ? null : names, fetchedAt, error };
  });
}

/** Returns the figures that come from the settings, with the counts of the lists read. */
export function toldOfSettings(
  { enabled }: DnsConfig,
  settings: ResolverSettings,
  read: readonly { readonly listed: string; readonly rules: number; readonly unsupported: number }[],
): Pick<DnsFigures, 'enabled' | 'lists' | 'upstreams'> {
  const states = new Map(read.map((state) => [state.listed, state]));
  const lists = usedLists(settings).map(({ name, url }) => {
    const { rules = 0, unsupported = 0 } = states.get(url) ?? {};
    return { name, rules, unsupported };
  });
  const { rules, unsupported } = readRules(settings.userRules, readLineOfAnEngine);
  const { upstreams } = settings;
  return {
    enabled,
    lists: [...lists, { name: USER_RULES, rules, unsupported }],
    upstreams: upstreams.filter((text) => upstreamFault(text) === null).map(upstreamLabel),
  };
}
