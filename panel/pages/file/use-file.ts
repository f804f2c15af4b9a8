import { useEffect, useMemo, useState } from 'preact/hooks';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import type { JsonNode } from '../../text/json-tree.js';
import { textOfFile } from './content.js';
import { fileDraftOf, isDirty } from './file-draft.js';
import { createServerFile } from './server-file.js';
import { useReview } from './use-review.js';

/** The server's file as a page edits it. */
export function useFile() {
  const workspace = useWorkspace();
  const serverFile = useMemo(() => createServerFile(workspace), [workspace]);
  const { state, begin, patch } = fileDraftOf(workspace);
  const draft = useStore(state);
  const [error, setError] = useState<unknown>(null);
  const { open, renewal, ...review } = useReview(serverFile);

  const fetchText = async () => (await serverFile.fetch()).content.text;
  /** Runs something that asks the server, and shows why it failed. */
  const attempt = async (act: () => Promise<void>) => {
    setError(null);
    try {
      await act();
    } catch (problem) {
      setError(problem);
    }
  };
  useEffect(() => {
    // An edit that is older than the answer stays, and so does a form that shows the same already.
    void attempt(async () => {
      if (isDirty(state.get())) return;
      const content = { text: await fetchText() };
      const known = state.get();
      if (known === null || (!isDirty(known) && textOfFile(known.base) !== content.text)) begin(content);
    });
  }, [state]);

  return {
    ...review,
    /** Null until it was read. */
    draft,
    error,
    dirty: isDirty(draft),
    credentials:
      draft !== null && isDirty(draft) && 'tree' in draft.now ? renewal(draft.base, draft.now, draft).change : 'none',
    load: () => attempt(async () => begin({ text: await fetchText() })),
    change: (tree: JsonNode) => patch({ now: { tree } }),
    type: (text: string) => {
      const base = state.get()?.base;
      patch({ now: base !== undefined && 'text' in base && base.text === text ? base : { text } });
    },
    patch,
    restore: (file: File) =>
      attempt(async () => {
        begin((await serverFile.present()).content, { text: await file.text() });
        say('plain', (words) => words('config.restored', { file: file.name.slice(0, 80) }));
      }),
    /** The file as the server has it. */
    fetchText,
    attempt,
    openReview: () => attempt(open),
  };
}

export type FileEditing = ReturnType<typeof useFile>;
