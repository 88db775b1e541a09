import type { JSX } from 'preact';
import { useSession } from '../../api/session.js';
import { Link } from '../../ui/link.js';
import { Needs, Panel, Problem } from '../../ui/parts.js';
import { COMPANY, type Creation } from './creation.js';

/** Shows how to begin with an empty service. */
export function Welcome({ creation: { part, error, begin } }: { readonly creation: Creation }): JSX.Element {
  const { has } = useSession();
  return (
    <Panel title="Getting started">
      <ol class="steps">
        <li>
          Register the agents and their reviewers, and issue a key to each under{' '}
          <Link to="agents">Agents and keys</Link> or through the <a href="/docs">API</a>.
        </li>
        <li>
          Under <Link to="policies">Policies</Link>, set what is allowed and what needs approval.
        </li>
        <li>Agents ask before they act. What needs approval appears here.</li>
      </ol>
      <p>Or try it with a demo company. {COMPANY.about}</p>
      {has('admin') ? (
        <div class="buttons">
          <button type="button" class="primary" disabled={part !== null} onClick={() => void begin()}>
            Create the demo company
          </button>
          <span class="help" role="status">
            {part === null ? 'Records can never be deleted, so do this only on a test installation.' : `${part} …`}
          </span>
        </div>
      ) : (
        <Needs scope="admin" label="Creating the demo company" />
      )}
      {error === null ? null : <Problem error={error} />}
    </Panel>
  );
}
