import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useLoad, useReloads } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import type { Webhook } from '../../api/types.js';
import { useNames } from '../../api/use-names.js';
import { useFeed } from '../../api/use-feed.js';
import { ChangeProblem } from '../../app/changes/change-problem.js';
import { textOf, useFormSending } from '../../ui/form-sending.js';
import { listText, numberText, showInvisible, revealedProse } from '../../ui/format.js';
import { Link } from '../../ui/link.js';
import { Badge, Panel, Problem, When } from '../../ui/parts.js';
import { LocalTime } from '../../ui/time.js';
import { answerText, deliveryState } from './state.js';

const EVERY = 10_000;

interface WebhookPage {
  readonly webhook: Webhook;
  /** Sequence of the newest entry. */
  readonly newest: number;
}

/** One webhook: the state of its deliveries, and the buttons that change it. */
export function WebhookScreen({ id }: { readonly id: string }): JSX.Element {
  const { client } = useSession();
  const webhookLoad = useLoad(
    async (signal): Promise<WebhookPage> => {
      const [webhook, { provenanceEntries: newest }] = await Promise.all([
        client.get('/api/v1/webhooks/{id}', { path: { id }, signal }),
        client.get('/api/v1/stats', { signal }),
      ]);
      return { webhook, newest };
    },
    [client, id],
  );
  useReloads(webhookLoad, EVERY);
  useFeed(webhookLoad.reload, ({ subjectId }) => subjectId === id);
  return (
    <>
      <Link to="webhooks" class="back">
        ← Webhooks
      </Link>
      <When load={webhookLoad} label="the webhook">
        {(page) => <View page={page} reload={webhookLoad.reload} />}
      </When>
    </>
  );
}

function View({
  page: { webhook, newest },
  reload,
}: {
  readonly page: WebhookPage;
  readonly reload: () => void;
}): JSX.Element {
  const nameOf = useNames();
  const { id, url, status, format, detail, buttons, actions, agentId, description, createdAt } = webhook;
  return (
    <div class="decision">
      <header>
        <h1>
          <bdi class="exact">{showInvisible(url)}</bdi>
        </h1>
        <p class="facts">
          <Badge value={status} />
          <span>
            since <LocalTime iso={createdAt} />
          </span>
        </p>
      </header>
      <Deliveries webhook={webhook} newest={newest} reload={reload} />
      <Panel title="About">
        {description === '' ? null : <p class="text">{revealedProse(description)}</p>}
        <dl class="pairs">
          <dt>Format</dt>
          <dd>
            {format}
            {detail === 'full' ? '' : ', as a reference without parameters'}
            {buttons ? ', with buttons' : ''}
          </dd>
          <dt>Actions</dt>
          <dd>{showInvisible(listText(actions, 'and'))}</dd>
          <dt>Agent</dt>
          <dd>{agentId === null ? 'all' : <Link to={`agents/${agentId}`}>{nameOf(agentId)}</Link>}</dd>
        </dl>
      </Panel>
      <Trial webhookId={id} />
      <Replay webhookId={id} newest={newest} onDone={reload} />
    </div>
  );
}

interface DeliveriesProps {
  readonly webhook: Webhook;
  readonly newest: number;
  readonly reload: () => void;
}

function Deliveries({ webhook, newest, reload }: DeliveriesProps): JSX.Element {
  const { promptClient } = useSession();
  const { id, delivery } = webhook;
  const { sequence, lastAttemptAt, lastStatus, nextAttemptAt } = delivery;
  const { tone, text, mayResume } = deliveryState(webhook);
  const { error, busy, onSubmit } = useFormSending(async () => {
    await promptClient.post('/api/v1/webhooks/{id}/resume', { path: { id } });
    reload();
  });
  return (
    <Panel title="Deliveries">
      <p class={`notice ${tone}`}>{text}</p>
      <dl class="pairs">
        <dt>Done up to</dt>
        <dd>
          {sequence === 0 ? 'no entry' : <Link to={`proof?entry=${sequence}`}>entry {numberText(sequence)}</Link>} of{' '}
          {numberText(newest)}
        </dd>
        <dt>Last attempt</dt>
        <dd>
          {lastAttemptAt === null ? 'none' : <LocalTime iso={lastAttemptAt} />}
          {lastAttemptAt === null ? '' : lastStatus === null ? ', without an answer' : `, answered ${lastStatus}`}
        </dd>
        {nextAttemptAt === null ? null : (
          <>
            <dt>Next attempt</dt>
            <dd>
              <LocalTime iso={nextAttemptAt} />
            </dd>
          </>
        )}
      </dl>
      {error === null ? null : <Problem error={error} />}
      {mayResume ? (
        <form onSubmit={onSubmit}>
          <button type="submit" class="primary" disabled={busy}>
            Resume now
          </button>
        </form>
      ) : null}
    </Panel>
  );
}

/** Sends one test event, which is not an entry, and shows the result. */
function Trial({ webhookId: id }: { readonly webhookId: string }): JSX.Element {
  const { promptClient } = useSession();
  const [result, setResult] = useState<string | null>(null);
  const { error, busy, onSubmit } = useFormSending(async () => {
    setResult(null);
    const { status, durationMs } = await promptClient.post('/api/v1/webhooks/{id}/test', { path: { id } });
    setResult(`After ${numberText(durationMs)} ms ${answerText(status)}.`);
  });
  return (
    <Panel title="Try it">
      <p class="help">A webhook.test event is delivered once, whatever its state. That changes nothing.</p>
      <form onSubmit={onSubmit}>
        <button type="submit" disabled={busy}>
          {busy ? 'Waiting for its answer …' : 'Send a test'}
        </button>
      </form>
      <p role="status">{result}</p>
      {error === null ? null : <Problem error={error} />}
    </Panel>
  );
}

interface ReplayProps {
  readonly webhookId: string;
  readonly newest: number;
  readonly onDone: () => void;
}

function Replay({ webhookId: id, newest, onDone }: ReplayProps): JSX.Element {
  const { promptClient } = useSession();
  const { error, busy, onSubmit, again } = useFormSending(async (form) => {
    const body = { after: Number(textOf(form, 'after')) };
    await promptClient.post('/api/v1/webhooks/{id}/replay', { path: { id }, body });
    onDone();
  });
  return (
    <Panel title="Deliver again">
      <form class="inline-form" onSubmit={onSubmit}>
        <label>
          After entry
          <input
            {...{ name: 'after', type: 'number', required: true, min: 0, max: newest, step: 1 }}
            aria-describedby="replay-help"
          />
        </label>
        <button type="submit" disabled={busy}>
          Deliver again
        </button>
      </form>
      <p class="help" id="replay-help">
        Delivers every matching entry after this one again; 0 means all.
      </p>
      <ChangeProblem error={error} again={again} />
    </Panel>
  );
}
