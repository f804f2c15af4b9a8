import { isIPv6 } from 'node:net';
import type { ComposeOptions, ResolvedMount } from '../gateway/options.js';
import type { SubscriptionAddress } from '../northbound/embedded-panel.js';
import { listenAddress } from '../settings/bind-address.js';
import type { Settings } from '../settings/table.js';

const DAY = 86_400_000;

/** What the gateway is composed with, as the settings say it. */
export function gatewayOptions(settings: Settings) {
  return {
    home: settings.home,
    mounts: settings.revision.map((mount): ResolvedMount => {
      const own = settings.panelDir.findLast((panel) => panel.mount === mount.text || panel.mount === mount.name);
      const folder = own ?? settings.panelDir.findLast((panel) => panel.mount === null);
      return {
        revision: mount.revision,
        version: mount.version,
        ...(mount.webpath === null ? {} : { webpath: mount.webpath }),
        ...(folder === undefined ? {} : { panelDir: folder.folder }),
      };
    }),
    keepGone: settings.keepGone * DAY,
    listener: withoutNulls({
      token: settings.token,
      username: settings.username,
      passwordHash: settings.passwordHash,
      webpath: settings.webpath,
    }),
    announced: withoutNulls({
      host: settings.serverHost,
      port: settings.serverPort,
      shareScheme: settings.shareScheme,
      shareQuery: settings.shareQuery,
    }),
    ...(settings.reportVersion === null ? {} : { reportVersion: settings.reportVersion }),
    panelServers: settings.panelServer,
    subscriptions: subscriptionAddress(settings),
    protectAudit: settings.protectAudit,
    guardConfig: settings.guardConfig,
    loginGuard:
      settings.loginGuard === 'off'
        ? 'off'
        : { failures: settings.loginGuard.failures, window: settings.loginGuard.minutes * 60_000 },
    trustProxy: settings.trustProxy,
    allowHosts: settings.allowHost,
    requestLog: settings.logRequests !== false && (settings.logLevel === 'info' || settings.logLevel === 'debug'),
  } satisfies Partial<ComposeOptions>;
}

function withoutNulls<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], null> } {
  const given = Object.entries(values).filter(([, value]) => value !== null);
  return Object.fromEntries(given) as { [K in keyof T]?: Exclude<T[K], null> }; // Only the nulls were left out.
}

/** Where clients reach the listener for subscriptions, as far as its setting says it; null for none, a Unix socket and a free port. */
function subscriptionAddress({ subscriptionBind, tlsCert }: Settings): SubscriptionAddress | null {
  if (subscriptionBind === null) return null;
  const address = listenAddress(subscriptionBind);
  if (address.kind === 'socket' || address.port === 0) return null;
  const host = isIPv6(address.host) ? `[${address.host}]` : address.host;
  return { host: ['0.0.0.0', '[::]'].includes(host) ? null : host, port: address.port, tls: tlsCert !== null };
}
