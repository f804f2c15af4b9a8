import { dirname } from 'node:path';
import type { FileSystemPort } from '../../../core/ports.js';

/** Notices that a file may have changed: by the system's events, and by looking at it from time to time. */
export interface EditWatch {
  stop(): void;
}

export interface EditWatchOptions {
  readonly fileSystem: FileSystemPort;
  readonly path: string;
  readonly realPath: string;
  /** 0 for no polling. */
  readonly pollMilliseconds: number;
  /** Whether to ask the system for events, too. */
  readonly watch: boolean;
  /** Reads the file when its stat is not the one known; never rejects; not called while it runs. `isPolled`: no event led to it. */
  readonly check: (isPolled: boolean) => Promise<void>;
}

/** An editor makes several events of one saving, and the first ones come too early. */
const DEBOUNCE_MS = 50;

export function startEditWatch(options: EditWatchOptions): EditWatch {
  const { fileSystem, path, realPath, pollMilliseconds, check } = options;
  let stopped = false;
  let checking = false;
  let again = false;
  let debounce: NodeJS.Timeout | null = null;

  function look(isPolled = false): void {
    if (stopped) return;
    again = checking;
    if (checking) return;
    checking = true;
    check(isPolled).finally(() => {
      checking = false;
      if (again) look();
    });
  }

  function onEvent(): void {
    if (stopped || debounce !== null) return;
    debounce = setTimeout(() => {
      debounce = null;
      look();
    }, DEBOUNCE_MS);
    debounce.unref();
  }

  const folders = options.watch ? [...new Set([dirname(path), dirname(realPath)])] : [];
  const stops = folders.map((folder) => fileSystem.watch(folder, onEvent));
  const poll = pollMilliseconds > 0 ? setInterval(look, pollMilliseconds, true) : null;
  poll?.unref();

  return {
    stop: () => {
      stopped = true;
      for (const stop of stops) stop();
      if (poll !== null) clearInterval(poll);
      if (debounce !== null) clearTimeout(debounce);
    },
  };
}
