import type { Backend } from '../core/backend.js';
import { createSession, type Session } from '../core/session.js';
import { type Operation, operationsOf } from '../wire/operations.js';
import type { Revision } from '../wire/traits/revision.js';
import type { PanelFiles } from './panel-files.js';

/** A `--revision R[@webpath]`, resolved. */
export interface MountRequest {
  readonly revision: Revision;
  /** The server package version that the mount stands for. */
  readonly version: string;
  readonly webpath: string;
  readonly panel: PanelFiles;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One revision served at its place, with its own single session (design: "Several mounts"). */
export interface Mount extends MountRequest {
  /** For people: the revision and where its API stands. */
  readonly label: string;
  /** Without a trailing slash; empty where the API stands at the server's root. */
  readonly base: string;
  readonly api: string;
  readonly session: Session;
  /** The operations of the API that it serves. */
  readonly operations: readonly Operation[];
  /** True where everything but its operations is answered as if nothing were there, the panel and preflights included. */
  readonly hidesRest: boolean;
}

const DAY = 86_400_000;

/** Says that a mount goes at a time (RFC 8594), and is not to be built upon from this day on (RFC 9745). */
export function leavingHeaders(sunset: number, now: number): Readonly<Record<string, string>> {
  const today = Math.floor(now / DAY) * DAY;
  return { deprecation: `@${Math.floor(Math.min(today, sunset) / 1000)}`, sunset: new Date(sunset).toUTCString() };
}

/** `sessions` holds the session where several gateways have it in common. */
export function createMount(request: MountRequest, sessions: Backend['sessions'] = null): Mount {
  const { base, api } = request.revision.root.paths(request.webpath);
  const label = `${request.revision.id} at ${api}`;
  const operations = operationsOf(request.revision);
  return { ...request, base, api, label, session: sessions?.(api) ?? createSession(), operations, hidesRest: false };
}

/** The same mount with its subscriptions alone, for an address that anybody may reach. */
export function subscriptionsOf(mount: Mount): Mount {
  return { ...mount, operations: mount.operations.filter(({ name }) => name === 'subscribe'), hidesRest: true };
}

export function servesPanel({ revision, hidesRest }: Mount): boolean {
  return !hidesRest && revision.capabilities.panel !== undefined;
}

/** One sentence for each two mounts that would answer the same paths, naming both. */
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

/** Why a web path cannot be served, or null. */
export function webpathProblem(webpath: string): string | null {
  if (/[*?#%\\]/.test(webpath)) return 'expected a web path without * ? # % or \\';
  const inner = webpath.replace(/^\/+|\/+$/g, '').split('/');
  if (inner.length > 1 && inner.includes('')) return 'expected a web path without empty parts';
  if (inner.some((part) => part === '.' || part === '..')) return 'expected a web path without . or .. parts';
  if (/\p{Surrogate}/u.test(webpath)) return 'expected a web path without half of a surrogate pair';
  return null;
}
