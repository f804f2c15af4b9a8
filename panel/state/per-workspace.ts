import { onceFor } from '../store/once.js';
import type { Workspace } from './workspace.js';

/** One thing for each server, made when it is first asked for. It outlives a change of page, and of server. */
export const perWorkspace: <T>(make: (workspace: Workspace) => T) => (workspace: Workspace) => T = onceFor;
