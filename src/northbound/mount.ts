import type { Backend } from '../core/backend.js';
import { createSession, type Session } from '../core/session.js';
import { type Operation, operationsOf } from '../wire/operations.js';
import { withoutOuterSlashes } from '../wire/text-ends.js';
import type { Revision } from '../wire/traits/revision.js';
import type { PanelFiles } from './panel-files.js';

/** A resolved `--revision R[@webpath]`. */
export interface MountRequest {
  readonly revision: Revision;
  /** The version of the server package whose API the mount serves. */
  readonly version: string;
  readonly webpath: string;
  readonly panel: PanelFiles;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One revision served at its path, with its own single session (design: "Several mounts"). */
export interface Mount extends MountRequest {
  /** Names the revision and the path of its API, for the log and messages. */
  readonly label: string;
  /** The base path without a trailing slash; empty if the API is at the server's root. */
  readonly base: string;
  readonly api: string;
  readonly session: Session;
  /** The operations that its API serves. */
  readonly operations: readonly Operation[];
  /** True if everything but its operations is answered as missing, including the panel and preflights. */
  readonly hidesRest: boolean;
}

const DAY = 86_400_000;

/** Returns the headers that announce when a mount ends (RFC 8594) and since when it is deprecated (RFC 9745). */
export function leavingHeaders(sunset: number, now: number): Readonly<Record<string, string>> {
  const today = Math.floor(now / DAY) * DAY;
  return { deprecation: `@${Math.floor(Math.min(today, sunset) / 1000)}`, sunset: new Date(sunset).toUTCString() };
}

/** Makes a mount; `sessions` holds its session if several gateways share it. */
export function createMount(request: MountRequest, sessions: Backend['sessions'] = null): Mount {
  const { base, api } = request.revision.root.paths(request.webpath);
  const label = `${request.revision.id} at ${api}`;
  const operations = operationsOf(request.revision);
  return { ...request, base, api, label, session: sessions?.(api) ?? createSession(), operations, hidesRest: false };
}

/** Returns the mount reduced to its subscriptions, for a public address. */
export function subscriptionsOf(mount: Mount): Mount {
  return { ...mount, operations: mount.operations.filter(({ name }) => name === 'subscribe'), hidesRest: true };
}

export function servesPanel({ revision, hidesRest }: Mount): boolean {
  return !hidesRest && revision.capabilities.panel !== undefined;
}

/** Returns one sentence, naming both, for each two mounts that would answer the same paths. */
export function mountClashes(mounts: readonly Mount[]): readonly string[] {
  return mounts.flatMap((mount, index) =>
    mounts
      .slice(index + 1)
      .filter((other) => overlaps(mount, other) || overlaps(other, mount))
      .map(
        (other) =>
          `the mounts ${mount.label} and ${other.label} overlap: give one of them another web path, as --revision ${mount.version}@old`,
      ),
  );
}

function overlaps(mount: Mount, other: Mount): boolean {
  const root = other.base === '' ? other.api : other.base;
  return root === mount.api || root.startsWith(`${mount.api}/`) || mount.api === other.api;
}

/** Returns why a web path cannot be served, or null. */
export function webpathProblem(webpath: string): string | null {
  if (/[*?#%\\]/.test(webpath)) return 'expected a web path without * ? # % or \\';
  const inner = withoutOuterSlashes(webpath).split('/');
  if (inner.length > 1 && inner.includes('')) return 'expected a web path without empty parts';
  if (inner.some((part) => part === '.' || part === '..')) return 'expected a web path without . or .. parts';
  if (/\p{Surrogate}/u.test(webpath)) return 'expected a web path without half of a surrogate pair';
  return null;
}
