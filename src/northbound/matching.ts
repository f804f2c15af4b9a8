import { type Mount, servesPanel } from './mount.js';

/** The methods that some mount serves at this path, for `Allow`; empty where none does. */
export function methodsAt(mounts: readonly Mount[], url: string): readonly string[] {
  const path = pathOf(url);
  const methods = new Set(mounts.flatMap((mount) => methodsOf(mount, path)));
  const withHead = [...methods].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return withHead;
}

/** Says which methods a path is served with instead. */
export function notAllowed(methods: readonly string[]): string {
  return `method not allowed: use ${methods.join(', ')}`;
}

/** Returns whether the path belongs to a mount's API, so that it is never a panel's page (design: "Unmatched API path"). */
export function isApiPath(mounts: readonly Mount[], url: string): boolean {
  const path = pathOf(url);
  return mounts.some(({ api }) => isUnder(api, path));
}

/** Tells whether pages of other origins may not call a path: that of a mount which says so, or one of none where all say so. */
export function isOfOwnOrigin(mounts: readonly Mount[], url: string): boolean {
  const path = pathOf(url);
  const isOwn = ({ revision }: Mount) => !revision.anyOrigin;
  const there = mounts.filter(({ base }) => isUnder(base, path));
  return there.length > 0 ? there.some(isOwn) : mounts.length > 0 && mounts.every(isOwn);
}

function isUnder(root: string, path: string): boolean {
  return path === root || path.startsWith(`${root}/`);
}

/** The path and query of a request target, of one in absolute form, too (RFC 9112, 3.2.2). */
export function originForm(url: string): string {
  return url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '');
}

/**
 * The path by which the router judges a request target: without a query,
 * escapes decoded but those of reserved characters.
 */
function pathOf(url: string): string {
  const [path = ''] = originForm(url).split(/[?#]/, 1);
  try {
    return decodeURI(path);
  } catch {
    return path; // The router refuses it where it is not passed by for its method.
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

function fits(template: string, path: string): boolean {
  const expected = template.split('/');
  const given = path.split('/');
  return (
    expected.length === given.length &&
    expected.every((part, index) => (part === '{key}' ? given[index] !== '' : part === given[index]))
  );
}
