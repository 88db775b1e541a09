import type { JSX, TargetedSubmitEvent } from 'preact';
import { go } from '../../app/router.js';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/names.js';
import { type Session, useSession } from '../../api/session.js';
import type { ChainEntry } from '../../api/types.js';
import { localTime } from '../../ui/format.js';
import { Json } from '../../ui/json.js';
import { Panel, When } from '../../ui/parts.js';
import { actorText, sentence } from '../activity/sentences.js';
import { checkInclusion, type CheckedProof } from './merkle.js';

interface InclusionProps {
  /** The sequence of the entry. */
  readonly asked: number;
  readonly size: number;
}

interface Shown {
  readonly entry: ChainEntry;
  /** Null where this page cannot compute hashes. */
  readonly checked: CheckedProof | null;
}

/** That one entry is in the ledger, computed by the browser itself. */
export function Inclusion({ asked, size }: InclusionProps): JSX.Element {
  const session = useSession();
  const found = useLoad((signal) => load(session, asked, signal), [session, asked, size]);
  const onSubmit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const entry = new FormData(event.currentTarget).get('entry');
    if (typeof entry === 'string') go(`proof?entry=${entry}`, 'replace');
  };
  return (
    <Panel title="Proof of one entry">
      <form class="inline-form" onSubmit={onSubmit}>
        <label>
          Entry
          <input name="entry" type="number" min={1} max={size} required defaultValue={String(asked)} />
        </label>
        <button type="submit">Show</button>
      </form>
      <When of={found} what="the proof">
        {({ entry, checked }) => <Result entry={entry} checked={checked} />}
      </When>
    </Panel>
  );
}

async function load({ client }: Session, sequence: number, signal: AbortSignal): Promise<Shown> {
  const [entry, proof] = await Promise.all([
    client.get('/api/v1/provenance/{sequence}', { path: { sequence }, signal }),
    client.get('/api/v1/provenance/{sequence}/proof', { path: { sequence }, query: {}, signal }),
  ]);
  // Browsers offer it to pages of https and of this machine only.
  return { entry, checked: isSecureContext ? await checkInclusion(entry.hash, proof) : null };
}

function Result({ entry, checked }: Shown): JSX.Element {
  const nameOf = useNames();
  return (
    <>
      <p>
        <strong>{sentence(entry.audit)}</strong> by {actorText(entry.audit, nameOf)}, {localTime(entry.timestamp)}
      </p>
      <Json value={entry.audit} label="The entry" />
      {checked === null ? (
        <p class="notice warn">
          This page cannot check the proof: browsers compute hashes only for pages that come by https or from this
          machine. Open the console by https, or check with the command below.
        </p>
      ) : (
        <>
          <p class={`notice ${checked.holds ? 'good' : 'bad'}`} role={checked.holds ? 'status' : 'alert'}>
            {checked.holds
              ? `Your browser computed the path from entry ${entry.sequence} to the root: it is in the ledger.`
              : `The path from entry ${entry.sequence} does not end at the root: this entry is not in the ledger as it stands.`}
          </p>
          <Path checked={checked} sequence={entry.sequence} />
        </>
      )}
    </>
  );
}

const short = (hash: string): string => `${hash.slice(0, 10)}…`;

/** The path in the tree, the root on top. */
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
        const other = (
          <code class="node" title={sibling}>
            {short(sibling)}
          </code>
        );
        return (
          <li key={own}>
            {siblingIs === 'left' ? other : node}
            {siblingIs === 'left' ? node : other}
          </li>
        );
      })}
    </ol>
  );
}
