import type { JSX, TargetedSubmitEvent } from 'preact';
import { useState } from 'preact/hooks';
import { useNames } from '../../api/names.js';
import { useSession } from '../../api/session.js';
import type { Evaluation } from '../../api/types.js';
import { Options } from '../../ui/options.js';
import { Problem } from '../../ui/parts.js';
import { Verdict } from './verdict.js';

/** What would be answered to a request, and why; nothing is done. */
export function Explain(): JSX.Element {
  const { client, names } = useSession();
  useNames();
  const [answer, setAnswer] = useState<Evaluation | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [fault, setFault] = useState<string | null>(null);

  const ask = async (form: HTMLFormElement): Promise<void> => {
    const given = new FormData(form);
    const text = (name: string): string => {
      const value = given.get(name);
      return typeof value === 'string' ? value.trim() : '';
    };
    setError(null);
    setAnswer(null);
    const parameters = parsed(text('parameters'));
    setFault(parameters === null ? 'The arguments must be a JSON object, such as {"amount": 80}.' : null);
    if (parameters === null) return;
    const [agent, action, resourceType, resourceId] = [text('agent'), text('action'), text('type'), text('resource')];
    try {
      const body = { agent, action, resourceType, resourceId, parameters, explain: true };
      const found = await client.post('/api/v1/policies/evaluate', { body });
      if (!('results' in found)) setAnswer(found);
    } catch (reason) {
      setError(reason);
    }
  };
  const onSubmit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    void ask(event.currentTarget);
  };

  return (
    <>
      <header class="screen-head">
        <div>
          <h1>Explain</h1>
          <p class="quiet">Would this agent be allowed to do that? Asking changes nothing.</p>
        </div>
      </header>
      <form class="panel form columns" onSubmit={onSubmit}>
        <label>
          Agent
          <input name="agent" required list="agents" autocomplete="off" />
          <datalist id="agents">
            <Options of={names.all().map(({ name }) => [name, name])} />
          </datalist>
        </label>
        <label>
          Action
          <input name="action" required autocomplete="off" />
        </label>
        <label>
          Resource type
          <input name="type" required autocomplete="off" />
        </label>
        <label>
          Resource
          <input name="resource" required autocomplete="off" />
        </label>
        <label class="wide">
          Arguments <small>(a JSON object; conditions refer to it)</small>
          <textarea name="parameters" rows={4} class="code" spellcheck={false}>
            {'{}'}
          </textarea>
        </label>
        {fault === null ? null : (
          <p class="notice bad wide" role="alert">
            {fault}
          </p>
        )}
        <button type="submit" class="primary">
          Explain
        </button>
      </form>
      {error === null ? null : <Problem error={error} />}
      {answer === null ? null : <Verdict answer={answer} />}
    </>
  );
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
