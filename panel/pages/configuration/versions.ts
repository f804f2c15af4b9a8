import { type KeptVersion, listVersions, readVersion, restoreVersion } from '../../api/kept-versions.js';
import { note } from '../../state/audit-notes.js';
import { perWorkspace } from '../../state/per-workspace.js';
import { say, sayFailure } from '../../state/toasts.js';
import type { Workspace } from '../../state/workspace.js';
import { createStore } from '../../store/store.js';
import { contentOf, readingOf } from '../file/content.js';
import { treeFromAnswer } from '../file/document.js';
import { fileEditingOf } from '../file/file-editing.js';
import { type CredentialChange, renewalBetween } from '../file/renewal.js';
import { createServerFile } from '../file/server-file.js';

/** A version beside what the server has now, both without their lists of keys. */
export interface OpenVersion {
  readonly version: KeptVersion;
  readonly present: string;
  readonly kept: string;
  /** How its restore changes the credentials. */
  readonly credentials: CredentialChange;
}

interface Versions {
  /** Null until they have come. */
  readonly list: readonly KeptVersion[] | null;
  /** The one that is looked at; null for none. */
  readonly open: OpenVersion | null;
}

/** The kept versions of the server's configuration. */
export function createVersions(workspace: Workspace) {
  const { own, session } = workspace;
  const serverFile = createServerFile(workspace);
  const state = createStore<Versions>({ list: null, open: null });
  session.onSignOut(() => state.set({ list: null, open: null }));

  const load = async () => state.patch({ list: await listVersions(own) });

  /** Restores a version by its id, and offers the way back for 15 s. */
  async function restore(id: string): Promise<void> {
    const before = await restoreVersion(own, id);
    const dismiss = say(
      'good',
      (words) => words('versions.restored'),
      before === null
        ? undefined
        : () => {
            dismiss();
            restore(before).catch(sayFailure);
          },
      15_000,
    );
    state.patch({ open: null });
    note(workspace, 'saveConfig', true);
    await Promise.all([load(), fileEditingOf(workspace).start(), workspace.contact.now()]);
  }

  return {
    state,
    /** Rejects with `ApiFailure`. */
    load,
    /** Compares a version with what the server has now. Rejects with `ApiFailure`. */
    async look(version: KeptVersion): Promise<void> {
      const [{ content: now }, answer] = await Promise.all([serverFile.present(), readVersion(own, version.id)]);
      const kept = contentOf(treeFromAnswer(answer));
      const { change } = renewalBetween(readingOf(now), readingOf(kept), session.state.get(), '');
      state.patch({ open: { version, present: now.text, kept: kept.text, credentials: change } });
    },
    close: () => state.patch({ open: null }),
    /** Restores the version that is looked at. Rejects with `ApiFailure`. */
    async restore(): Promise<void> {
      const { open } = state.get();
      if (open !== null) await restore(open.version.id);
    },
  };
}

export const versionsOf = perWorkspace(createVersions);
