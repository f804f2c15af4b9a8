import type { Credentials } from '../core/model.js';
import type { Mount } from '../northbound/mount.js';
import { isLoopback, listenAddress } from '../settings/bind-address.js';

/** The facts that decide whether an open mount may be served (design: "A mount that its own rule leaves open"). */
export interface OpenMountContext {
  readonly mounts: readonly Mount[];
  readonly credentials: Credentials;
  /** `host:port`, or `unix:` and a path. */
  readonly bind: string;
  /** True if callers named by a proxy are trusted, wherever the proxy runs. */
  readonly trustsProxy: boolean;
}

/** Returns one sentence for each mount that must not be served open. */
export function openMountProblems(context: OpenMountContext): readonly string[] {
  return context.mounts.flatMap((mount) => {
    const reason = refusal(mount, context);
    if (reason === null) return [];
    return [
      `${mount.label} would be open to everyone, although ${reason}: set ${mount.revision.auth.closedBy}, or allow it with --allow-open`,
    ];
  });
}

/** Returns one sentence for each mount whose line's servers, and so Keyway, serve no API by these credentials. */
export function shutMountProblems({ mounts, credentials }: Pick<OpenMountContext, 'mounts' | 'credentials'>) {
  return mounts
    .filter(({ revision }) => revision.auth.admitsNobody(credentials))
    .map(
      ({ label, revision: { auth } }) =>
        `${label} is never open, and nothing is configured that would let anybody in: set ${auth.closedBy}`,
    );
}

/** Returns why an open mount must not be served: it undermines a credential, or strangers reach it; or null. */
export function refusal(mount: Mount, { mounts, credentials, bind, trustsProxy }: OpenMountContext): string | null {
  if (!isOpen(mount, credentials)) return null;
  const { token, username, passwordHash } = credentials;
  if ((token ?? '') !== '' || username !== '' || passwordHash !== '') return 'credentials are configured';
  const closed = mounts.find((other) => !isOpen(other, credentials));
  if (closed !== undefined) return `${closed.label} is closed`;
  const address = listenAddress(bind);
  // A socket like this is meant for a proxy, and so for any client of that proxy.
  if (address.kind === 'socket') return `a proxy may pass others on to ${bind}`;
  if (!isLoopback(address.host)) return `${bind} is reached by other machines`;
  return trustsProxy ? 'a proxy passes others on (--trust-proxy)' : null;
}

function isOpen(mount: Mount, credentials: Credentials): boolean {
  return mount.revision.auth.isOpen(credentials);
}
