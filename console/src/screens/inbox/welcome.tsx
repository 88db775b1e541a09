import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import {
  type DemoCompany,
  type IssuedDemoKey,
  makeDemoCompany,
} from '../../../../clients/typescript/src/demo-company.js';
import demo from '../../../../examples/demo.json';
import { useSession } from '../../api/session.js';
import { Link } from '../../ui/link.js';
import { Needs, Panel, Problem } from '../../ui/parts.js';

/** As the file is checked to be by whoever makes the company of it. */
const COMPANY = demo as unknown as DemoCompany;

interface WelcomeProps {
  readonly keys: readonly IssuedDemoKey[] | null;
  readonly onMade: (keys: readonly IssuedDemoKey[]) => void;
}

/** How to begin, while the service is empty; and the keys of the demo company once it was created. */
export function Welcome({ keys, onMade }: WelcomeProps): JSX.Element {
  return (
    <Panel title={keys === null ? 'Getting started' : `${COMPANY.name} is ready`}>
      {keys === null ? <Beginning onMade={onMade} /> : <DemoKeys keys={keys} />}
    </Panel>
  );
}

function Beginning({ onMade }: Pick<WelcomeProps, 'onMade'>): JSX.Element {
  const { connection, has } = useSession();
  const [part, setPart] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const make = async (): Promise<void> => {
    setPart('Starting');
    setError(null);
    try {
      onMade(await makeDemoCompany(connection, COMPANY, { onPart: setPart }));
    } catch (reason) {
      setError(reason);
    }
    setPart(null);
  };
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
          <button type="button" class="primary" disabled={part !== null} onClick={() => void make()}>
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

function DemoKeys({ keys }: { readonly keys: readonly IssuedDemoKey[] }): JSX.Element {
  return (
    <>
      <p>
        These keys are shown only once. Open a second window and sign in with a person's key (such as ann's) to decide
        what waits for them. The bots' keys are for trying the API.
      </p>
      <dl class="pairs">
        {keys.map(({ name, agent, secret }) => (
          <DemoKey key={name} agent={agent} secret={secret} />
        ))}
      </dl>
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
