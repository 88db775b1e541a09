/**
 * Verifies decision files, each a line of JSON with its `text` and `publicKey`, and prints as JSON the last line of
 * each, and what the verifier says that it only attests.
 *
 * Usage: node verify-lines.mjs <file>
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseVerifierKey } from '../../verifier/checkpoint.mjs';
import { ATTESTED } from '../../verifier/decision/attested.mjs';
import { checkDecisionFile } from '../../verifier/decision/check.mjs';
import { verdictOf } from '../../verifier/decision/result-text.mjs';

const [path = ''] = process.argv.slice(2);
const verdicts = [];
for await (const line of createInterface({ input: createReadStream(path) })) {
  const { text, publicKey } = JSON.parse(line);
  verdicts.push(
    await checkDecisionFile(text, [parseVerifierKey(publicKey)]).then(
      verdictOf,
      (error) => `UNREADABLE: ${error.stack}`,
    ),
  );
}
process.stdout.write(JSON.stringify({ verdicts, attested: Object.keys(ATTESTED) }));
