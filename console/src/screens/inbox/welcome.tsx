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

/** How to begin, while the service keeps nothing yet; and the keys of the demo company once it was made. */
export function Welcome({ keys, onMade }: WelcomeProps): JSX.Element {
  return (
    <Panel title={keys === null ? 'Nothing is here yet' : `${COMPANY.name} is here`}>
      {keys === null ? <Beginning onMade={onMade} /> : <DemoKeys keys={keys} />}
    </Panel>
  );
}

function Beginning({ onMade }: Pick<WelcomeProps, 'onMade'>): JSX.Element {
  const { connection, has } = useSession();
  const [part, setPart] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const make = async (): Promise<void> => {
    setPart('Beginning');
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
          Register an agent and the people who review, and issue a key to each under{' '}
          <Link to="agents">Agents and keys</Link> or by the API (<a href="/docs">its documentation</a>).
        </li>
        <li>
          Say under <Link to="policies">Policies</Link> what is allowed and what needs approval.
        </li>
        <li>The agent asks before it acts. What needs approval appears here.</li>
      </ol>
      <p>Or look around first: {COMPANY.about}</p>
      {has('admin') ? (
        <div class="buttons">
          <button type="button" class="primary" disabled={part !== null} onClick={() => void make()}>
            Make the demo company
          </button>
          <span class="help" role="status">
            {part === null ? 'Records are kept for good, so do this in a service to try things with.' : `${part} …`}
          </span>
        </div>
      ) : (
        <Needs scope="admin" what="Making the demo company" />
      )}
      {error === null ? null : <Problem error={error} />}
    </>
  );
}

function DemoKeys({ keys }: { readonly keys: readonly IssuedDemoKey[] }): JSX.Element {
  return (
    <>
      <p>
        These keys are shown this once. Sign in with that of a person in another window to decide what waits for them,
        and keep those of the agents for trying the API.
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
