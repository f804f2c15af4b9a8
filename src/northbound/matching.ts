import { type Mount, servesPanel } from './mount.js';

/** Lists the methods that some mount serves at this path, for `Allow`. */
export function methodsAt(mounts: readonly Mount[], url: string): readonly string[] {
  const path = pathOf(url);
  const methods = new Set(mounts.flatMap((mount) => methodsOf(mount, path)));
  const withHead = [...methods].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return withHead;
}

/** Returns the error text that names the methods a path is served with. */
export function notAllowed(methods: readonly string[]): string {
  return `method not allowed: use ${methods.join(', ')}`;
}

/** Tells whether a path belongs to a mount's API, and never to a panel (design: "Unmatched API path"). */
export function isApiPath(mounts: readonly Mount[], url: string): boolean {
  const path = pathOf(url);
  return mounts.some(({ api }) => isUnder(api, path));
}

/**
 * Tells whether pages of other origins may not call a path: a mount of the path forbids it, or the path has no mount
 * and all mounts forbid it.
 */
export function isOfOwnOrigin(mounts: readonly Mount[], url: string): boolean {
  const path = pathOf(url);
  const isOwn = ({ revision }: Mount) => !revision.anyOrigin;
  const there = mounts.filter(({ base }) => isUnder(base, path));
  return there.length > 0 ? there.some(isOwn) : mounts.length > 0 && mounts.every(isOwn);
}

function isUnder(root: string, path: string): boolean {
  return path === root || path.startsWith(`${root}/`);
}

/** Returns the path and query of a request target, also of one in absolute form (RFC 9112, 3.2.2). */
export function originForm(url: string): string {
  return url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '');
}

/**
 * Returns the path by which the router judges a request target: without a query, and with every escape decoded except
 * those of reserved characters.
 */
function pathOf(url: string): string {
  const [path = ''] = originForm(url).split(/[?#]/, 1);
  try {
    return decodeURI(path);
  } catch {
    return path; // The router refuses it, if it looks at a path with this method at all.
  }
}

function methodsOf(mount: Mount, path: string): readonly string[] {
  if (isUnder(mount.api, path)) {
    return mount.operations
      .filter((operation) => fits(operation.path, path.slice(mount.api.length)))
      .map(({ method }) => method);
  }
  return servesPanel(mount) && isUnder(mount.base, path) ? ['GET'] : [];
}

/** Tells whether a path is one of a template such as `/users/{key}`. */
export function fits(template: string, path: string): boolean {
  const expected = template.split('/');
  // A stranger's path may have 100,000 parts.
  const given = path.split('/', expected.length + 1);
  return (
    expected.length === given.length &&
    expected.every((part, index) => (part.startsWith('{') ? given[index] !== '' : part === given[index]))
  );
}
