import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import type { Stop } from '../../api/types.js';
import { useFeed } from '../../api/use-feed.js';
import { useNames } from '../../api/use-names.js';
import { useDisclosure } from '../../ui/disclosure.js';
import { focusScreen } from '../../ui/focus.js';
import { countText, listText, showInvisible, revealedProse } from '../../ui/format.js';
import { Problem } from '../../ui/parts.js';
import { LocalTime } from '../../ui/time.js';
import { ChangeProblem } from '../changes/change-problem.js';

/** Stops that are shown at first, and as many as can be in force. */
const FIRST = 5;
const MAX_STOPS = 1_000;

/** Shows the active stops, on every screen. */
export function StopBanner(): JSX.Element | null {
  const session = useSession();
  const [limit, setLimit] = useState(FIRST);
  const query = { status: 'active', limit } as const;
  const stops = useLoad((signal) => session.client.get('/api/v1/stops', { query, signal }), [session], limit);
  useFeed(stops.reload, ({ action }) => action.startsWith('stop.'));
  const { data, error } = stops;
  const section = useRef<HTMLElement>(null);
  return (
    <>
      {error === null ? null : (
        <div class="stops">
          <p role="alert">What is stopped now could not be loaded:</p>
          <Problem error={error} retry={stops.reload} />
        </div>
      )}
      {data === null || data.total === 0 ? null : (
        <section class="notice bad stops" aria-label="Stopped" role="alert" tabIndex={-1} ref={section}>
          <strong>
            {countText(data.total, 'stop')} in force: what {data.total === 1 ? 'it covers' : 'they cover'} is refused.
          </strong>
          <ul>
            {data.data.map((stop) => (
              <li key={stop.id}>
                <StopNotice stop={stop} onLift={stops.reload} />
              </li>
            ))}
          </ul>
          {data.total > data.data.length && limit < MAX_STOPS ? (
            <button
              type="button"
              onClick={() => {
                setLimit(MAX_STOPS);
                // The button is removed.
                section.current?.focus();
              }}
            >
              Show {countText(data.total - data.data.length, 'earlier one')}
            </button>
          ) : null}
        </section>
      )}
    </>
  );
}

function StopNotice({ stop, onLift }: { readonly stop: Stop; readonly onLift: () => void }): JSX.Element {
  const { promptClient, has } = useSession();
  const nameOf = useNames();
  const { isOpen, button, close } = useDisclosure();
  const [reason, setReason] = useState('');
  const [error, setError] = useState<unknown>(null);
  const lift = async (): Promise<void> => {
    setError(null);
    try {
      await promptClient.post('/api/v1/stops/{id}/lift', {
        path: { id: stop.id },
        body: { reason: reason.trim() },
      });
      // The form is removed with the stop.
      focusScreen();
      onLift();
    } catch (failure) {
      setError(failure);
    }
  };
  const { agentId, role, actions } = stop;
  return (
    <>
      <bdi>{agentId === null ? 'Every agent' : nameOf(agentId)}</bdi>
      {role === null ? '' : ` with the role ${showInvisible(role)}`}
      {actions.length === 0 ? ', every action' : `, ${listText(actions.map(showInvisible), 'and')}`}, since{' '}
      <LocalTime iso={stop.createdAt} />: {revealedProse(stop.reason)}{' '}
      {has('review') ? (
        <button type="button" {...button}>
          Lift
        </button>
      ) : null}
      {isOpen ? (
        <form
          class="form"
          aria-label="Lift the stop"
          onSubmit={(event) => {
            event.preventDefault();
            void lift();
          }}
        >
          <label>
            Reason <small>(kept permanently)</small>
            <input required maxLength={2000} onInput={(event) => setReason(event.currentTarget.value)} />
          </label>
          <div class="buttons">
            <button type="submit">Lift it now</button>
            <button type="button" onClick={close}>
              Cancel
            </button>
          </div>
        </form>
      ) : null}
      <ChangeProblem error={error} again={() => void lift()} />
    </>
  );
}
