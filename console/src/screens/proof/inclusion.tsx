import type { JSX, TargetedSubmitEvent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { entryFaults } from '../../../../verifier/entry-check.mjs';
import { go } from '../../app/router.js';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { type Session, useSession } from '../../api/session.js';
import type { ChainEntry, Checkpoint } from '../../api/types.js';
import { Json } from '../../ui/json.js';
import { Link } from '../../ui/link.js';
import { Panel, When } from '../../ui/parts.js';
import { LocalTime } from '../../ui/time.js';
import { actorText, sentence } from '../activity/sentences.js';
import { checkInclusion, type CheckedProof } from './merkle.js';

interface InclusionProps {
  /** The sequence of the entry. */
  readonly sequence: number;
  /** The checkpoint whose root the proof has to lead to. */
  readonly checkpoint: Checkpoint;
}

interface CheckedEntry {
  readonly entry: ChainEntry;
  readonly checked: CheckedProof;
}

/** The proof that one entry is in the ledger, checked by the browser itself. */
export function Inclusion({ sequence, checkpoint }: InclusionProps): JSX.Element {
  const session = useSession();
  const proofLoad = useLoad((signal) => load(session, sequence, checkpoint, signal), [session, sequence, checkpoint]);
  const [entry, setEntry] = useState(String(sequence));
  useEffect(() => setEntry(String(sequence)), [sequence]);
  const onSubmit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    go(`proof?entry=${entry}`, 'replace');
  };
  return (
    <Panel title="Proof of one entry">
      <form class="inline-form" onSubmit={onSubmit}>
        <label>
          Entry
          <input
            type="number"
            min={1}
            max={checkpoint.size}
            required
            value={entry}
            onInput={(event) => setEntry(event.currentTarget.value)}
          />
        </label>
        <button type="submit">Show</button>
      </form>
      <When load={proofLoad} label="the proof">
        {(entry) => <Result {...entry} />}
      </When>
    </Panel>
  );
}

async function load(
  { client }: Session,
  sequence: number,
  { size, rootHash }: Checkpoint,
  signal: AbortSignal,
): Promise<CheckedEntry> {
  const [entry, proof] = await Promise.all([
    client.get('/api/v1/provenance/{sequence}', { path: { sequence }, signal }),
    client.get('/api/v1/provenance/{sequence}/proof', { path: { sequence }, query: { size }, signal }),
  ]);
  const checked = checkInclusion(entry.hash, proof, { sequence, size, rootHash });
  const holds = checked.holds && entry.sequence === sequence && entryFaults(entry).length === 0;
  return { entry, checked: { ...checked, holds } };
}

function Result({ entry, checked }: CheckedEntry): JSX.Element {
  const nameOf = useNames();
  return (
    <>
      <p>
        <strong>{sentence(entry.audit)}</strong> by {actorText(entry.audit, nameOf)},{' '}
        <LocalTime iso={entry.timestamp} />
      </p>
      <Json value={entry.audit} label="The entry" />
      {entry.erased === undefined ? null : (
        <p class="notice">
          Contents erased: <Link to={`proof?entry=${entry.erased}`}>entry {entry.erased}</Link> says so. What is left is
          checked as before.
        </p>
      )}
      <p class={`notice ${checked.holds ? 'good' : 'bad'}`} role={checked.holds ? 'status' : 'alert'}>
        {checked.holds
          ? `Your browser computed the hashes of entry ${entry.sequence} and its path to the root above: it is in the ledger as it is shown here.`
          : `The path from entry ${entry.sequence} as it is shown here does not end at the root above: it is not in the ledger like this.`}
      </p>
      <Path checked={checked} sequence={entry.sequence} />
    </>
  );
}

const short = (hash: string): string => `${hash.slice(0, 10)}…`;

/** The path in the tree, with the root at the top. */
function Path({ checked, sequence }: { readonly checked: CheckedProof; readonly sequence: number }): JSX.Element {
  const nodes = [...checked.steps].reverse();
  return (
    <ol class="tree" aria-label="Path in the tree, from the root to the entry">
      <li>
        <code class="node root" title={checked.root}>
          root {short(checked.root)}
        </code>
      </li>
      {nodes.map(({ own, sibling, siblingIs }, index) => {
        const node = (
          <code class={index === nodes.length - 1 ? 'node own leaf' : 'node own'} title={own}>
            {index === nodes.length - 1 ? `entry ${sequence} ` : ''}
            {short(own)}
          </code>
        );
        const siblingNode = (
          <code class="node" title={sibling}>
            {short(sibling)}
          </code>
        );
        return (
          <li key={own}>
            {siblingIs === 'left' ? siblingNode : node}
            {siblingIs === 'left' ? node : siblingNode}
          </li>
        );
      })}
    </ol>
  );
}
