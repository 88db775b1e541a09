import { Argument, type Command } from 'commander';
import { withChangeWait } from '../change-waits.js';
import { executionText, seenBy } from '../decision-text.js';
import { grantText } from '../grant-text.js';
import { counted, plain, printError, printJson, printLine } from '../output.js';
import { requireConfirmation } from '../question.js';
import { client, SettingsError } from '../settings.js';
import { type GovernanceClient, GovernanceError, type Schemas } from '../../../typescript/src/index.js';
import { sleep } from '../../../typescript/src/sleep.js';

type Erasure = Schemas['ErasureResponse'];
type ErasableType = Schemas['ErasableType'];

const TYPES: readonly ErasableType[] = ['entity', 'decision', 'execution'];
/** Milliseconds between two requests for the state of the erasure. */
const POLL_INTERVAL_MS = 250;
/** Maximum number of entries that are counted before the erasure. */
const MAX_COUNTED = 10_000;
const PAGE = 1_000;

interface EraseOptions {
  readonly reason: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** A record that the erasure covers. */
interface ErasedRecord {
  readonly type: ErasableType | 'grant';
  readonly id: string;
  /** A text about the record for people. */
  readonly text: string;
  readonly isErased: boolean;
  /** True if the erasure also writes an entry that deletes an existing entity, or ends an active grant. */
  readonly isEnded?: true;
}

export function addEraseCommand(program: Command): void {
  withChangeWait(program.command('erase'))
    .addArgument(new Argument('<type>', 'what kind of record').choices(TYPES))
    .argument('<id>', 'the id of the record')
    .description(
      'erase the contents of a record, everywhere and for good; shows what goes, and needs a confirmation. Needs the scope admin',
    )
    .requiredOption('--reason <text>', 'why; it stays on record, so it must hold no personal data')
    .option('--yes', 'do not ask; needed without a terminal')
    .option('--json', 'the erasure as JSON')
    .action(erase);
}

async function erase(type: ErasableType, id: string, { reason, yes, json }: EraseOptions): Promise<void> {
  const governance = client();
  if (!(await seenBy(governance))('admin'))
    throw new SettingsError('Nothing was erased: the key lacks the scope admin.');
  const records = await loadRecords(governance, type, id);
  // The result is the erasure.
  const say = json === true ? printError : printLine;
  if (records.every(({ isErased }) => isErased)) {
    const earlier = await earlierErasure(governance, type, id);
    say(
      plain(
        `The ${type} ${id} is erased already${earlier === null ? '' : `, by ${earlier.id}`}: nothing is left to erase.`,
      ),
    );
    if (json === true) printJson(earlier);
    return;
  }
  const entries = await countEntries(governance, records);
  say(
    `What ${records.length === 1 ? 'this record contains' : 'these records contain'} will be erased, and cannot be brought back:`,
  );
  for (const record of records) say(plain(`  ${record.type.padEnd(10)} ${record.id}  ${record.text}`));
  say(`${entriesText(entries)} Who did what when stays, and so does every hash.`);
  if (yes !== true) await requireConfirmation('Erase?', 'Nothing was erased');
  const body = { subjects: [{ type, id }], reason };
  const erasure = await waitForErasure(governance, await governance.post('/api/v1/erasures', { body }));
  if (json === true) printJson(erasure);
  else printLine(plain(resultText(erasure)));
}

/** Loads the record and the records that are erased with it. */
async function loadRecords(
  governance: GovernanceClient,
  type: ErasableType,
  id: string,
): Promise<readonly ErasedRecord[]> {
  if (type === 'entity') return [await loadEntity(governance, id)];
  if (type === 'execution') {
    const execution = await loadExecution(governance, id);
    if (execution.decisionId === null) return [execution];
    const { decisionId } = execution;
    return [execution, await loadDecision(governance, decisionId), ...(await loadGrants(governance, decisionId))];
  }
  const decision = await loadDecision(governance, id);
  const execution = decision.executionId === null ? [] : [await loadExecution(governance, decision.executionId)];
  return [...execution, decision, ...(await loadGrants(governance, decision.id))];
}

/** Loads the grants of a decision. */
async function loadGrants(governance: GovernanceClient, decisionId: string): Promise<readonly ErasedRecord[]> {
  const { data } = await governance.get('/api/v1/grants', { query: { decisionId } });
  return data.map((grant) => {
    const { id, status, resourceId } = grant;
    const isErased = resourceId === '';
    const text = isErased ? 'is erased already' : `${grantText(grant)}, ${status}`;
    return { type: 'grant', id, text, isErased, ...(status === 'active' && { isEnded: true }) };
  });
}

async function loadExecution(
  governance: GovernanceClient,
  id: string,
): Promise<ErasedRecord & { readonly decisionId: string | null }> {
  const execution = await governance.get('/api/v1/executions/{id}', { path: { id }, query: {} });
  const { decisionId, outcome, erased } = execution;
  const text = erased === true ? 'is erased already' : `${executionText(execution)}, ${outcome}`;
  return { type: 'execution', id: execution.id, text, isErased: erased === true, decisionId };
}

async function loadDecision(
  governance: GovernanceClient,
  id: string,
): Promise<ErasedRecord & { readonly executionId: string | null }> {
  const decision = await governance.get('/api/v1/decisions/{id}', { path: { id }, query: {} });
  const { title, status, executionId, erased } = decision;
  const text = erased === true ? 'is erased already' : `${title}, ${status}`;
  return { type: 'decision', id: decision.id, text, isErased: erased === true, executionId };
}

async function loadEntity(governance: GovernanceClient, id: string): Promise<ErasedRecord> {
  const path = { id };
  try {
    const entity = await governance.get('/api/v1/entities/{id}', { path, query: {} });
    const { total } = await governance.get('/api/v1/entities/{id}/claims', { path, query: { limit: 1 } });
    const entityText = `${entity.type} ${entity.name}`;
    const text =
      total === 0
        ? `${entityText}, which is deleted`
        : `${entityText} and ${counted(total, 'claim')}, which are deleted`;
    return { type: 'entity', id: entity.id, text, isErased: false, isEnded: true };
  } catch (error) {
    if (!(error instanceof GovernanceError) || error.status !== 404) throw error;
    const [newest] = (await governance.get('/api/v1/audit', { query: { subjectId: id, limit: 1 } })).data;
    if (newest === undefined) throw error;
    const isErased = newest.action === 'entity.erased';
    return { type: 'entity', id, text: 'is deleted already; the contents of its older entries go', isErased };
  }
}

/** Finds the erasure of a record; null if the service erased it by itself. */
async function earlierErasure(governance: GovernanceClient, type: ErasableType, id: string): Promise<Erasure | null> {
  const query = { subjectId: id, action: `${type}.erased`, limit: 1 };
  const [entry] = (await governance.get('/api/v1/audit', { query })).data;
  const erasureId = entry?.details?.['erasureId'];
  if (typeof erasureId !== 'string') return null;
  return governance.get('/api/v1/erasures/{id}', { path: { id: erasureId } });
}

/** Counts the entries that have contents to lose, up to a maximum. */
async function countEntries(governance: GovernanceClient, records: readonly ErasedRecord[]): Promise<number> {
  let count = records.filter(({ isEnded }) => isEnded === true).length;
  for (const { type, id } of records) {
    const query = { ...(type === 'entity' ? { entityId: id } : { subjectId: id }), limit: PAGE };
    for await (const { subjectType, details } of governance.pages('/api/v1/audit', { query })) {
      // The claims of an entity are erased with it; executions on it are not.
      const goes = subjectType === type || (type === 'entity' && subjectType === 'claim');
      if (goes && details !== null) count += 1;
      if (count === MAX_COUNTED) return count;
    }
  }
  return count;
}

function entriesText(count: number): string {
  if (count === 1) return '1 entry loses its state, details, reason and address.';
  return `${count}${count === MAX_COUNTED ? ' or more' : ''} entries lose their states, details, reasons and addresses.`;
}

async function waitForErasure(governance: GovernanceClient, begun: Erasure): Promise<Erasure> {
  let erasure = begun;
  while (erasure.completedAt === null) {
    await sleep(POLL_INTERVAL_MS);
    erasure = await governance.get('/api/v1/erasures/{id}', { path: { id: begun.id } });
  }
  return erasure;
}

function resultText({ id, completedAt, entries, records, unsalted }: Erasure): string {
  const entriesText = counted(entries ?? 0, 'entry', 'entries');
  const guessable =
    (unsalted ?? 0) === 0
      ? ''
      : ` ${counted(unsalted ?? 0, 'entry is', 'entries are')} of version 1: what they held can still be guessed from the hash.`;
  return `${id} was complete at ${completedAt}: ${entriesText} and ${counted(records ?? 0, 'record')} lost their contents.${guessable}`;
}
