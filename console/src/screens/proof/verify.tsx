import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useLoad, useReloads } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import type { Verification } from '../../api/types.js';
import { counted, durationText, numberText, revealed, words } from '../../ui/format.js';
import { Panel, Problem } from '../../ui/parts.js';
import { useNow } from '../../ui/time.js';
import { metricsOf } from '../health/metrics.js';

/** Milliseconds between checks of the progress. */
const LOOK_EVERY = 2_000;
const REACHED = 'governance_verification_entry';

/** Makes the service verify everything: the chain, the tree and every record. */
export function Verify({ entries }: { readonly entries: number }): JSX.Element {
  const { slowClient } = useSession();
  const [began, setBegan] = useState<number | null>(null);
  const [found, setFound] = useState<Verification | null>(null);
  const [error, setError] = useState<unknown>(null);
  const run = async (): Promise<void> => {
    setBegan(Date.now());
    setError(null);
    setFound(null);
    try {
      setFound(await slowClient.post('/api/v1/provenance/verify', { body: { state: true } }));
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
          Verify {counted(entries, 'entry', 'entries')}
        </button>
      ) : (
        <Progress began={began} entries={entries} />
      )}
      {error === null ? null : <Problem error={error} />}
      {found === null ? null : <Verdict of={found} />}
    </Panel>
  );
}

interface ProgressProps {
  readonly began: number;
  readonly entries: number;
}

function Progress({ began, entries }: ProgressProps): JSX.Element {
  const now = useNow(500);
  const reached = useReached();
  const isHashing = reached !== null && reached > 0 && reached < entries;
  return (
    <p role="status">
      <progress aria-label="Verification" max={entries} {...(isHashing ? { value: reached } : {})} />{' '}
      {isHashing ? `Entry ${numberText(reached)} of ${numberText(entries)}` : 'Verifying'} for{' '}
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

function Verdict({ of: found }: { readonly of: Verification }): JSX.Element {
  const { valid, entriesVerified, recordsVerified, durationMs, firstInvalid, brokenLinks, invalidHashes } = found;
  const { firstInvalidRecords = [], firstInvalidDerived = [], invalidRecords = 0, invalidDerived = 0, tree } = found;
  const unlisted = invalidRecords + invalidDerived - firstInvalidRecords.length - firstInvalidDerived.length;
  if (valid) {
    return (
      <div class="notice good" role="status">
        <strong>The ledger is sound.</strong> {counted(entriesVerified, 'entry', 'entries')} and{' '}
        {counted(recordsVerified ?? 0, 'record')} match their hashes (
        {durationMs < 1_000 ? 'under 1 s' : durationText(durationMs)}).
      </div>
    );
  }
  return (
    <div class="notice bad" role="alert">
      <strong>The ledger was tampered with.</strong>
      <ul>
        {firstInvalid === null ? null : <li>The first invalid entry is {firstInvalid}.</li>}
        {brokenLinks + invalidHashes === 0 ? null : (
          <li>
            {counted(invalidHashes, 'wrong hash', 'wrong hashes')} and {counted(brokenLinks, 'broken link')} in the
            chain.
          </li>
        )}
        {tree === null || tree.matches ? null : <li>The root of the tree is wrong.</li>}
        {firstInvalidRecords.map(({ subjectType, subjectId, fault }) => (
          <li key={subjectId}>
            {revealed(`${words(subjectType)} ${subjectId}`)}: {words(fault)}
          </li>
        ))}
        {firstInvalidDerived.map(({ data, name }) => (
          <li key={`${data} ${name}`}>{revealed(`${words(data)} ${name}`)} does not match its entries</li>
        ))}
        {unlisted === 0 ? null : <li>And {numberText(unlisted)} more.</li>}
      </ul>
      <p>Keep the database as it is. Compare it with a backup and with a checkpoint kept elsewhere.</p>
    </div>
  );
}
