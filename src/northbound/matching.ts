import { type Mount, servesPanel } from './mount.js';

/** The methods that some mount serves at this path, for `Allow`; empty where none does. */
export function methodsAt(mounts: readonly Mount[], url: string): readonly string[] {
  const path = url.split('?', 1)[0] ?? '';
  const methods = new Set(mounts.flatMap((mount) => methodsOf(mount, path)));
  const withHead = [...methods].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return withHead;
}

/** Whether the path belongs to a mount's API, so that it is never a panel's page (design: "unmatched API path"). */
export function isApiPath(mounts: readonly Mount[], url: string): boolean {
  const path = url.split('?', 1)[0] ?? '';
  return mounts.some(({ api }) => path === api || path.startsWith(`${api}/`));
}

function methodsOf(mount: Mount, path: string): readonly string[] {
  if (isApiPath([mount], path)) {
    return mount.operations
      .filter((operation) => fits(operation.path, path.slice(mount.api.length)))
      .map(({ method }) => method);
  }
  const inPanel = path === mount.base || path.startsWith(`${mount.base}/`);
  return servesPanel(mount) && inPanel ? ['GET'] : [];
}

function fits(template: string, path: string): boolean {
  const expected = template.split('/');
  const given = path.split('/');
  return (
    expected.length === given.length &&
    expected.every((part, index) => (part === '{key}' ? given[index] !== '' : part === given[index]))
  );
}
