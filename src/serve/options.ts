import { isIPv6 } from 'node:net';
import type { ComposeOptions, ResolvedMount } from '../gateway/options.js';
import type { SubscriptionAddress } from '../northbound/embedded-panel.js';
import { listenAddress } from '../settings/bind-address.js';
import { sunsetOf } from '../settings/cross.js';
import type { Settings } from '../settings/table.js';

/**
 * Returns the options that the gateway is composed with. Settings whose row has the same name and value there are
 * passed on unchanged; the others are converted.
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

/**
 * Returns the address where clients reach only the subscriptions, as far as its setting says; null without one, for a
 * Unix socket, and for a port that the system chooses.
 */
function subscriptionAddress({ subscriptionBind, tlsCert }: Settings): SubscriptionAddress | null {
  if (subscriptionBind === null) return null;
  const address = listenAddress(subscriptionBind);
  if (address.kind === 'socket' || address.port === 0) return null;
  const host = isIPv6(address.host) ? `[${address.host}]` : address.host;
  return { host: ['0.0.0.0', '[::]'].includes(host) ? null : host, port: address.port, tls: tlsCert !== null };
}
