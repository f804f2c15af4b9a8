import { ApiFailure, hasFailed, isAbsent } from '../../api/failure.js';
import { patchOwnConfiguration, readOwnConfiguration } from '../../api/own-configuration.js';
import type { Workspace } from '../../state/workspace.js';
import { contentOf, textOfFile } from './content.js';
import { treeFromAnswer } from './document.js';
import type { PresentFile, SavePlan } from './save-plan.js';

const NOTHING_READABLE: PresentFile = { content: { text: '' }, whole: null, tag: null };

/** The file in an answer. Throws `ApiFailure`. */
function presentIn(answer: string, tag: string | null): PresentFile {
  const whole = treeFromAnswer(answer);
  return { content: contentOf(whole), whole, tag };
}

/** Reads and changes the server's file: by Keyway's own interface where the credential may, else as a whole. */
export function createServerFile({ server, own, reach, contact }: Workspace) {
  async function isOwn(): Promise<boolean> {
    if (reach.get() === null) await contact.now();
    return reach.get() === 'all';
  }

  /** Rejects where the server cannot read its own file. */
  async function fetch(): Promise<PresentFile> {
    if (await isOwn()) {
      try {
        const { answer, tag } = await readOwnConfiguration(own);
        return presentIn(answer, tag);
      } catch (problem) {
        // The reason is told as the server's own API tells it; where that interface is no more, the file is.
        const isTold = problem instanceof ApiFailure && problem.envelope.code !== undefined;
        if (!isTold && !isAbsent(problem)) throw problem;
      }
    }
    return presentIn(await server.configText(), null);
  }

  return {
    fetch,
    present: () =>
      fetch().catch((problem: unknown): PresentFile => {
        if (hasFailed(problem, 'refused')) return NOTHING_READABLE;
        throw problem;
      }),
    /** Rejects where the file of the plan's tag is another one by now (`isChangedMeanwhile`). */
    async write({ whole, fields }: SavePlan): Promise<void> {
      if (fields === null) await server.replaceConfig(textOfFile(whole));
      else if (fields.patch !== null) await patchOwnConfiguration(own, fields.patch, fields.tag);
    },
  };
}
