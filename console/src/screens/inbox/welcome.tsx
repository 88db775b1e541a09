import type { JSX } from 'preact';
import type { IssuedDemoKey } from '../../../../clients/typescript/src/demo-company.js';
import { useSession } from '../../api/session.js';
import { focusScreen } from '../../ui/focus.js';
import { Link } from '../../ui/link.js';
import { Needs, Panel, Problem } from '../../ui/parts.js';
import { COMPANY, type Creation } from './creation.js';

/** How to begin with an empty service; and the keys of the demo company once it was created. */
export function Welcome({ creation }: { readonly creation: Creation }): JSX.Element {
  const { keys, dismiss } = creation;
  return (
    <Panel title={keys === null ? 'Getting started' : `${COMPANY.name} is ready`}>
      {keys === null ? <Beginning creation={creation} /> : <DemoKeys keys={keys} dismiss={dismiss} />}
    </Panel>
  );
}

function Beginning({ creation: { part, error, begin } }: { readonly creation: Creation }): JSX.Element {
  const { has } = useSession();
  return (
    <>
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
        <Needs scope="admin" what="Creating the demo company" />
      )}
      {error === null ? null : <Problem error={error} />}
    </>
  );
}

interface DemoKeysProps {
  readonly keys: readonly IssuedDemoKey[];
  readonly dismiss: () => void;
}

function DemoKeys({ keys, dismiss }: DemoKeysProps): JSX.Element {
  const onSaved = (): void => {
    dismiss();
    focusScreen();
  };
  return (
    <>
      <p>
        These keys are shown only once. Open a second window and sign in with a person's key (such as ann's) to decide
        what waits for them. The bots' keys are for trying the API. All of them stay in the inbox until you dismiss
        them, sign out or close the page.
      </p>
      <dl class="pairs">
        {keys.map(({ name, agent, secret }) => (
          <DemoKey key={name} agent={agent} secret={secret} />
        ))}
      </dl>
      <button type="button" onClick={onSaved}>
        I have saved them
      </button>
    </>
  );
}

function DemoKey({ agent, secret }: Pick<IssuedDemoKey, 'agent' | 'secret'>): JSX.Element {
  return (
    <>
      <dt>{agent}</dt>
      <dd>
        <code>{secret}</code>
      </dd>
    </>
  );
}
