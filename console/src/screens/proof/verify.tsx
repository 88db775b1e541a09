import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useLoad, useReloads } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import { serviceNow } from '../../api/clock.js';
import type { Checkpoint, Verification } from '../../api/types.js';
import { countText, durationText, numberText, showInvisible, words } from '../../ui/format.js';
import { Panel, Problem } from '../../ui/parts.js';
import { LocalTime, useNow } from '../../ui/time.js';
import { metricsOf } from '../health/metrics.js';

/** Milliseconds between checks of the progress. */
const LOOK_EVERY = 2_000;
const REACHED = 'governance_verification_entry';

interface Finding {
  readonly verification: Verification;
  /** Time of the start of the verification. */
  readonly time: string;
  /** The checkpoint that the verification covers. */
  readonly note: string;
}

/** Makes the service verify everything: the chain, the tree and every record. */
export function Verify({ checkpoint }: { readonly checkpoint: Checkpoint }): JSX.Element {
  const entries = checkpoint.size;
  const { slowClient } = useSession();
  const [began, setBegan] = useState<number | null>(null);
  const [finding, setFinding] = useState<Finding | null>(null);
  const [error, setError] = useState<unknown>(null);
  const run = async (): Promise<void> => {
    const time = new Date(serviceNow()).toISOString();
    setBegan(Date.now());
    setError(null);
    setFinding(null);
    try {
      // A ledger that was rewritten as a whole verifies, but does not lead to the head that is shown.
      const body = { state: true, checkpoint: checkpoint.checkpoint };
      const verification = await slowClient.post('/api/v1/provenance/verify', { body });
      setFinding({ verification, time, note: checkpoint.checkpoint });
    } catch (reason) {
      setError(reason);
    }
    setBegan(null);
  };
  return (
    <Panel title="Verify the whole ledger">
      <p>The service computes every hash again and compares every record with its last entry.</p>
      {began === null ? (
        <button type="button" class="primary" onClick={() => void run()}>
          Verify {countText(entries, 'entry', 'entries')}
        </button>
      ) : (
        <Progress began={began} entries={entries} />
      )}
      {error === null ? null : <Problem error={error} />}
      {finding === null ? null : concerns(finding, checkpoint) ? (
        <Verdict finding={finding} />
      ) : finding.note === checkpoint.checkpoint ? (
        <p class="notice bad" role="alert">
          What was verified does not have the head and the root that are shown above, so this says nothing about them.
        </p>
      ) : null}
    </Panel>
  );
}

/** True if a finding is about the head that is shown. A ledger that was altered once stays altered. */
function concerns({ verification: { valid, tree, checkpoint } }: Finding, shownCheckpoint: Checkpoint): boolean {
  return (
    !valid ||
    [checkpoint, tree].some((head) => head?.size === shownCheckpoint.size && head.rootHash === shownCheckpoint.rootHash)
  );
}

interface ProgressProps {
  readonly began: number;
  readonly entries: number;
}

function Progress({ began, entries }: ProgressProps): JSX.Element {
  const now = useNow(500);
  const reachedEntry = useReached();
  const isHashing = reachedEntry !== null && reachedEntry > 0 && reachedEntry < entries;
  return (
    <p role="status">
      <progress aria-label="Verification" max={entries} {...(isHashing ? { value: reachedEntry } : {})} />{' '}
      {isHashing ? `Entry ${numberText(reachedEntry)} of ${numberText(entries)}` : 'Verifying'} for{' '}
      {durationText(now - began)} …
    </p>
  );
}

/** The entry that the verification has reached; null if the metrics do not show it. */
function useReached(): number | null {
  const { connection, has } = useSession();
  const mayLook = has('read');
  const look = useLoad(
    async (signal) => (mayLook ? ((await metricsOf(connection, signal))?.sum(REACHED) ?? null) : null),
    [connection, mayLook],
  );
  useReloads(look, LOOK_EVERY, mayLook);
  return look.data;
}

function Verdict({ finding: { verification, time } }: { readonly finding: Finding }): JSX.Element {
  const { valid, entriesVerified, recordsVerified, durationMs, firstInvalid, brokenLinks, invalidHashes } =
    verification;
  const { firstInvalidRecords = [], firstInvalidDerived = [], invalidRecords = 0, invalidDerived = 0 } = verification;
  const { tree, checkpoint, erased } = verification;
  const isTreeWrong = tree?.matches === false;
  const isAltered = brokenLinks + invalidHashes + invalidRecords + invalidDerived > 0 || isTreeWrong;
  const unlistedCount = invalidRecords + invalidDerived - firstInvalidRecords.length - firstInvalidDerived.length;
  if (valid) {
    return (
      <div class="notice good" role="status">
        <strong>The ledger is sound.</strong> {rangeText(entriesVerified)}, verified at <LocalTime iso={time} />: they
        and {countText(recordsVerified ?? 0, 'record')} match their hashes (
        {durationMs < 1_000 ? 'under 1 s' : durationText(durationMs)}).
        {erased === 0
          ? ''
          : ` The contents of ${countText(erased, 'entry', 'entries')} were erased, as later ones say.`}
      </div>
    );
  }
  return (
    <div class="notice bad" role="alert">
      <strong>
        {isAltered ? 'The ledger was tampered with.' : 'The ledger does not confirm the checkpoint that was shown.'}
      </strong>{' '}
      {rangeText(entriesVerified)}, verified at <LocalTime iso={time} />:
      <ul>
        {firstInvalid === null ? null : <li>The first invalid entry is {firstInvalid}.</li>}
        {brokenLinks + invalidHashes === 0 ? null : (
          <li>
            {countText(invalidHashes, 'wrong hash', 'wrong hashes')} and {countText(brokenLinks, 'broken link')} in the
            chain.
          </li>
        )}
        {isTreeWrong ? <li>The root of the tree is wrong.</li> : null}
        {checkpoint?.extended === false ? (
          <li>
            {rangeText(checkpoint.size)} did not lead to the root that was shown:{' '}
            <code class="hash">{checkpoint.rootHash}</code>
          </li>
        ) : null}
        {checkpoint?.signature === 'invalid' ? (
          <li>The service did not sign the checkpoint that was shown, although it bears the name of its key.</li>
        ) : null}
        {firstInvalidRecords.map(({ subjectType, subjectId, fault }) => (
          <li key={subjectId}>
            {showInvisible(`${words(subjectType)} ${subjectId}`)}: {words(fault)}
          </li>
        ))}
        {firstInvalidDerived.map(({ data, name }) => (
          <li key={`${data} ${name}`}>
            {showInvisible(`${words(data)} ${name}`)}{' '}
            {data === 'table' ? 'does not show all its rows as they are' : 'does not match its entries'}
          </li>
        ))}
        {unlistedCount === 0 ? null : <li>And {numberText(unlistedCount)} more.</li>}
      </ul>
      <p>Keep the database as it is. Compare it with a backup and with a checkpoint kept elsewhere.</p>
    </div>
  );
}

/** The entries up to a head. */
function rangeText(last: number): string {
  if (last === 0) return 'No entry';
  return last === 1 ? 'Entry 1' : `Entries 1–${numberText(last)}`;
}
