import { useRef, useState } from 'preact/hooks';
import { perWorkspace } from './per-workspace.js';
import { useWorkspace } from './workspace.js';

/** The drafts of windows' forms, by the name of each; a draft outlives the window until it is sent or given up. */
const draftsOf = perWorkspace(({ session }) => {
  const drafts = new Map<string, object>();
  session.onSignOut(() => drafts.clear());
  return drafts;
});

/** The content of a form, begun with `fresh` or as it was left half typed. */
export function useFormDraft<T extends object>(name: string, fresh: T) {
  const drafts = draftsOf(useWorkspace());
  // Each name has one form, which alone puts something under it.
  const now = useRef<T>((drafts.get(name) as T | undefined) ?? fresh);
  const [, draw] = useState(now.current);
  return {
    form: now.current,
    change: (members: Partial<T>) => {
      now.current = { ...now.current, ...members };
      drafts.set(name, now.current);
      draw(now.current);
    },
    /** Forgets what was typed. */
    discard: () => void drafts.delete(name),
  };
}
