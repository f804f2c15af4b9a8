import type { Workspace } from './workspace.js';

/** One thing for each server, made when it is first asked for. It outlives a change of page, and of server. */
export function perWorkspace<T>(make: (workspace: Workspace) => T): (workspace: Workspace) => T {
  const made = new WeakMap<Workspace, T>();
  return (workspace) => {
    const known = made.get(workspace);
    if (known !== undefined) return known;
    const fresh = make(workspace);
    made.set(workspace, fresh);
    return fresh;
  };
}
