import { formatScenario } from '../../replay/format/format.js';
import { type CommandContext, type ExitCode, wordsOf } from '../command.js';
import { filesIn } from './run.js';

/** Writes scenario files in their canonical form; what is no scenario is said, and stays as it is. */
export async function formatFiles(words: readonly string[], context: CommandContext): Promise<ExitCode> {
  const { fileSystem, output, complain } = context;
  const seen = { changed: 0, broken: 0 };
  try {
    const files = await filesIn(words, context);
    for (const file of files) {
      if (file.kind === 'broken') {
        complain(`keyway replay: ${file.problem}`);
        seen.broken += 1;
        continue;
      }
      const content = Buffer.from(formatScenario(file.scenario));
      if (await fileSystem.matches(file.path, content)) continue;
      await fileSystem.overwrite(file.path, content);
      output.line(`formatted ${file.path}`);
      seen.changed += 1;
    }
    output.line(`${seen.changed} of ${files.length} files changed`);
    return seen.broken > 0 ? 2 : 0;
  } catch (error) {
    complain(`keyway replay: ${wordsOf(error)}`);
    return 2;
  }
}
