import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { beforeEarlyEnd } from '../early-end.js';
import { plain, printError, printLine } from '../output.js';
import {
  installedService,
  runVerifier,
  SERVICE_OPTION,
  serviceFolder,
  type ServiceOption,
} from '../service-program.js';
import { clientOf, settings, type Settings, SettingsError } from '../settings.js';
import { writeEvidence, writeNewFile } from '../streamed-answers.js';

const ENDING = '.evidence.json';

interface EvidenceOptions extends ServiceOption {
  readonly out?: string;
  readonly verify?: boolean;
  readonly publicKey?: string;
}

export function addEvidenceCommand(program: Command): void {
  program
    .command('evidence <id>')
    .description('fetch the decision file of an execution or a change, from which the decision can be recomputed')
    .option('--out <file>', 'write it to this file instead of standard output')
    .option('--verify', 'recompute it with the offline verifier; the exit codes are those of gov verify')
    .option(
      '--public-key <key>',
      'for --verify: the key of the log that you kept; by default the one that the service names, which proves less',
    )
    .option(...SERVICE_OPTION)
    .action(evidence);
}

async function evidence(id: string, { out, verify, publicKey, service }: EvidenceOptions): Promise<void> {
  const from = settings();
  if (verify !== true) {
    if (publicKey !== undefined)
      throw new SettingsError('--public-key belongs to --verify: without it, nothing is verified.');
    if (out === undefined) await writeEvidence(from, process.stdout, id);
    else {
      await writeFile(from, out, id);
      printLine(writtenText(out, service));
    }
    return;
  }
  if (out?.endsWith(ENDING) === false)
    throw new SettingsError(
      `--verify: the verifier knows a decision file by its name, so --out must end in ${ENDING}.`,
    );
  const verifier = serviceFolder(service);
  const key = publicKey ?? (await keyOf(from));
  await inFile(out, async (file) => {
    await writeFile(from, file, id);
    await runVerifier(verifier, [file, '--public-key', key]);
  });
}

function writtenText(file: string, service: string | undefined): string {
  const message = plain(`The decision file is written to ${file}.`);
  if (!file.endsWith(ENDING)) return `${message} To verify it, let its name end in ${ENDING}.`;
  const isFound = service === undefined && installedService() !== undefined;
  const program = isFound ? '' : ` --service ${shellWord(service ?? 'path/to/the/service')}`;
  const command = plain(`${commandName()} verify${program} ${shellWord(file)} --public-key key.txt`);
  return `${message} Verify it offline, with the public key that you keep in key.txt:\n${command}`;
}

/** Returns the words that start this program: `npm run gov` does not put it on the `PATH`. */
function commandName(): string {
  return process.env['npm_lifecycle_event'] === 'gov' ? 'npm run --silent gov --' : 'gov';
}

/** Quotes a text as one word of a shell's command line. */
function shellWord(text: string): string {
  return /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function writeFile(from: Settings, file: string, id: string): Promise<void> {
  return writeNewFile(file, (to) => writeEvidence(from, to, id));
}

async function keyOf(from: Settings): Promise<string> {
  const { publicKey } = await clientOf(from).get('/api/v1/provenance/checkpoint');
  printError(
    `The public key is the one that ${plain(from.url)} names now: ${plain(publicKey)}\nCompare it with the one that you keep: the service cannot vouch for itself.`,
  );
  return publicKey;
}

/** Works in the named file, or in a temporary one that is removed afterwards. */
async function inFile(path: string | undefined, work: (file: string) => Promise<void>): Promise<void> {
  if (path !== undefined) return work(path);
  const folder = mkdtempSync(join(tmpdir(), 'governance-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  beforeEarlyEnd(remove);
  try {
    await work(join(folder, `decision${ENDING}`));
  } finally {
    remove();
  }
}
