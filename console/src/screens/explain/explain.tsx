import type { JSX, TargetedSubmitEvent } from 'preact';
import { useState } from 'preact/hooks';
import { useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import { argumentsIn } from '../../api/typed-json.js';
import type { Policy } from '../../api/types.js';
import { AgentField } from '../../ui/agent-field.js';
import { showInvisible } from '../../ui/format.js';
import { Lines, linesIn } from '../../ui/lines.js';
import { Options } from '../../ui/options.js';
import { Problem, When } from '../../ui/parts.js';
import { Verdict } from './verdict.js';

/** Maximum number of policies whose actions and types are suggested: the newest. */
const MAX_POLICIES = 200;

interface Question {
  readonly agent: string;
  readonly onBehalfOf?: { readonly subject: string; readonly roles: string[] };
  readonly run?: string;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly parameters: Record<string, unknown>;
}

/** Shows how a request would be answered, and why, without executing it. */
export function Explain(): JSX.Element {
  const { client } = useSession();
  const suggestions = useSuggestions();
  /**
   * The request in the form; null before it is sent, and once the form is edited, so that no answer is shown for
   * another request.
   */
  const [question, setQuestion] = useState<Question | null>(null);
  const [fault, setFault] = useState<unknown>(null);
  const answer = useLoad(
    async (signal) => {
      if (question === null) return null;
      const answer = await client.post('/api/v1/policies/evaluate', { body: { ...question, explain: true }, signal });
      return 'results' in answer ? null : answer;
    },
    [client, question],
  );

  const ask = (form: HTMLFormElement): void => {
    const values = new FormData(form);
    const text = (name: string): string => {
      const value = values.get(name);
      return typeof value === 'string' ? value.trim() : '';
    };
    const [agent, action, resourceType, resourceId] = [text('agent'), text('action'), text('type'), text('resource')];
    const [subject, roles, run] = [text('principal'), linesIn(text('roles')), text('run')];
    const forWhom = {
      // Roles without a subject are sent as well, so that the service refuses them.
      ...((subject !== '' || roles.length > 0) && { onBehalfOf: { subject, roles } }),
      ...(run !== '' && { run }),
    };
    setFault(null);
    try {
      const parameters = argumentsIn(text('parameters'));
      setQuestion({ agent, action, resourceType, resourceId, parameters, ...forWhom });
    } catch (error) {
      setFault(error);
    }
  };
  const onSubmit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    ask(event.currentTarget);
  };

  return (
    <>
      <header class="screen-head">
        <div>
          <h1>Explain</h1>
          <p class="quiet">Would this agent be allowed to do that? Asking changes nothing.</p>
        </div>
      </header>
      <form class="panel form columns" onSubmit={onSubmit} onInput={() => setQuestion(null)}>
        <AgentField label="Agent" name="agent" required />
        <SuggestingField label="Action" name="action" from={suggestions.actions} />
        <SuggestingField label="Resource type" name="type" from={suggestions.types} />
        <label>
          Resource
          <input name="resource" required autocomplete="off" />
        </label>
        <label>
          On behalf of <small>(optional)</small>
          <input name="principal" autocomplete="off" placeholder="such as user:4711" />
        </label>
        <Lines title="Their roles" name="roles" rows={1} />
        <label>
          Run <small>(optional)</small>
          <input name="run" maxLength={200} autocomplete="off" />
        </label>
        <label class="wide">
          Arguments <small>(a JSON object; conditions refer to it)</small>
          <textarea name="parameters" rows={4} class="code" spellcheck={false}>
            {'{}'}
          </textarea>
        </label>
        {fault === null ? null : (
          <div class="wide">
            <Problem error={fault} />
          </div>
        )}
        <button type="submit" class="primary">
          Explain
        </button>
      </form>
      {question === null ? null : (
        <When load={answer} label="the answer">
          {(answer) => (answer === null ? null : <Verdict answer={answer} />)}
        </When>
      )}
    </>
  );
}

interface SuggestingProps {
  readonly label: string;
  readonly name: string;
  readonly from: readonly string[];
}

/** A text field that suggests some texts and takes any other. */
function SuggestingField({ label, name, from }: SuggestingProps): JSX.Element {
  return (
    <label>
      {label}
      <input name={name} required list={`known-${name}`} autocomplete="off" />
      <datalist id={`known-${name}`}>
        <Options choices={from.map((text) => [text, showInvisible(text)])} />
      </datalist>
    </label>
  );
}

interface KnownWords {
  readonly actions: readonly string[];
  readonly types: readonly string[];
}

/** The actions and types in the policies in force. They are only suggestions, so errors are not shown. */
function useSuggestions(): KnownWords {
  const { client, has } = useSession();
  const mayRead = has('read');
  const { data } = useLoad(
    async (signal) => {
      if (!mayRead) return [];
      const query = { status: 'active', limit: MAX_POLICIES, order: 'desc' } as const;
      return (await client.get('/api/v1/policies', { query, signal })).data;
    },
    [client, mayRead],
  );
  const policies: readonly Policy[] = data ?? [];
  return {
    actions: distinct(policies.flatMap(({ actions }) => actions).filter((action) => !action.endsWith('*'))),
    types: distinct(policies.flatMap(({ resourceTypes }) => resourceTypes)),
  };
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort((left, right) => left.localeCompare(right));
}
