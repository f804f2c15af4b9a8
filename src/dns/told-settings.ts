import type { DnsConfig, DnsFigures, DnsList, ResolverSettings } from '../core/model.js';
import { upstreamFault, upstreamLabel } from '../wire/dns-values.js';
import { readLineOfAnEngine } from './line-rules.js';
import { readRules } from './list-lines.js';

/** The source of the rules in the settings. */
export const USER_RULES = 'user rules';

interface UsedList extends DnsList {
  readonly isAllowing: boolean;
}

/** Returns the enabled lists, allowing ones last. */
export function usedLists({ lists, allowlists }: ResolverSettings): readonly UsedList[] {
  const used = (of: readonly DnsList[], isAllowing: boolean) =>
    of.filter(({ enabled }) => enabled).map((list) => ({ ...list, isAllowing }));
  return [...used(lists, false), ...used(allowlists, true)];
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
