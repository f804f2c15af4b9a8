import type { Credentials } from '../core/model.js';
import type { Mount } from '../northbound/mount.js';
import { isLoopback, listenAddress } from '../settings/bind-address.js';

/** The facts that decide whether an open mount may be served (design: "A mount that its own rule leaves open"). */
export interface OpenMountContext {
  readonly mounts: readonly Mount[];
  readonly credentials: Credentials;
  /** `host:port`, or `unix:` and a path. */
  readonly bind: string;
  /** True where the callers that a proxy names are believed, wherever it stands. */
  readonly trustsProxy: boolean;
}

/** One sentence for each mount that must not be served so. */
export function openMountProblems(context: OpenMountContext): readonly string[] {
  return context.mounts.flatMap((mount) => {
    const reason = refusal(mount, context);
    if (reason === null) return [];
    return [
      `${mount.label} would be open to everyone, although ${reason}: set ${mount.revision.auth.closedBy}, or allow it with --allow-open`,
    ];
  });
}

/** One sentence for each mount of a line whose servers start no API under these credentials, and neither does Keyway. */
export function shutMountProblems({ mounts, credentials }: Pick<OpenMountContext, 'mounts' | 'credentials'>) {
  return mounts
    .filter(({ revision }) => revision.auth.admitsNobody(credentials))
    .map(
      ({ label, revision: { auth } }) =>
        `${label} is never open, and nothing is configured that would let anybody in: set ${auth.closedBy}`,
    );
}

/** Why a mount that is open must not be: it undoes what others rely on, or strangers reach it. Null when it may. */
export function refusal(mount: Mount, { mounts, credentials, bind, trustsProxy }: OpenMountContext): string | null {
  if (!isOpen(mount, credentials)) return null;
  const { token, username, passwordHash } = credentials;
  if ((token ?? '') !== '' || username !== '' || passwordHash !== '') return 'credentials are configured';
  const closed = mounts.find((other) => !isOpen(other, credentials));
  if (closed !== undefined) return `${closed.label} is closed`;
  const address = listenAddress(bind);
  // Nobody is on such a socket by accident: it is there for a proxy, and whoever reaches that.
  if (address.kind === 'socket') return `a proxy may pass others on to ${bind}`;
  if (!isLoopback(address.host)) return `${bind} is reached by other machines`;
  return trustsProxy ? 'a proxy passes others on (--trust-proxy)' : null;
}

function isOpen(mount: Mount, credentials: Credentials): boolean {
  return mount.revision.auth.isOpen(credentials);
}
