import { isIPv6 } from 'node:net';
import type { ComposeOptions, ResolvedMount } from '../gateway/options.js';
import type { SubscriptionAddress } from '../northbound/embedded-panel.js';
import { listenAddress } from '../settings/bind-address.js';
import { sunsetOf } from '../settings/cross.js';
import type { Settings } from '../settings/table.js';

/**
 * The options that the gateway is composed with. Settings that have there the name and the value of their row pass as they are; these
 * are the others.
 */
export function gatewayOptions(settings: Settings) {
  const { panelDirs, serverHost: host, serverPort: port, shareScheme, shareQuery, requestLog, logLevel } = settings;
  return {
    ...settings,
    mounts: settings.revision.map((one): ResolvedMount => {
      const { revision, version, webpath, text, name } = one;
      const sunset = sunsetOf(one, settings);
      const own = panelDirs.findLast(({ mount }) => mount === text || mount === name);
      const { folder = null } = own ?? panelDirs.findLast(({ mount }) => mount === null) ?? {};
      return {
        revision,
        version,
        ...(webpath === null ? {} : { webpath }),
        ...(folder === null ? {} : { panelDir: folder }),
        ...(sunset === null ? {} : { sunset }),
      };
    }),
    // Its members have the names of their rows, too.
    listener: settings,
    announced: { host, port, shareScheme, shareQuery },
    subscriptions: subscriptionAddress(settings),
    requestLog: logLevel === 'info' || logLevel === 'debug' ? requestLog : 'none',
  } satisfies Partial<ComposeOptions>;
}

/** The address at which clients reach the subscriptions alone, as far as its setting says it; null for none, a Unix socket and a free port. */
function subscriptionAddress({ subscriptionBind, tlsCert }: Settings): SubscriptionAddress | null {
  if (subscriptionBind === null) return null;
  const address = listenAddress(subscriptionBind);
  if (address.kind === 'socket' || address.port === 0) return null;
  const host = isIPv6(address.host) ? `[${address.host}]` : address.host;
  return { host: ['0.0.0.0', '[::]'].includes(host) ? null : host, port: address.port, tls: tlsCert !== null };
}
