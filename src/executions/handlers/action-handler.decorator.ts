import type { JsonObject } from '../../json/json-value';
import type { Caller } from '../../ledger/caller';

/** What a handler learns about the execution it carries out. */
export interface ActionContext {
  /** Who asked for the execution: the caller to pass on when the handler writes through the ledger. */
  readonly caller: Caller;
  readonly executionId: string;
  readonly agentId: string;
  readonly agentName: string;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly parameters: JsonObject;
  /** Aborted when ACTION_TIMEOUT has passed or the service stops: nobody waits for the result any more. */
  readonly signal: AbortSignal;
}

/** The result must be JSON; undefined becomes null. If it throws, the execution is `failed`. */
export type ActionHandlerMethod = (context: ActionContext) => unknown;

const HANDLED_ACTIONS = Symbol('actions a method handles');

/**
 * Marks the provider method that carries out an action. It runs after the authorisation is on disk, at most once per
 * execution. Each action has at most one handler.
 */
export function ActionHandler(action: string) {
  return <Method extends ActionHandlerMethod>(
    _target: object,
    _name: string | symbol,
    method: TypedPropertyDescriptor<Method>,
  ): void => {
    if (method.value === undefined) throw new Error(`@ActionHandler('${action}') belongs on a method.`);
    Reflect.defineMetadata(HANDLED_ACTIONS, [action, ...actionsHandledBy(method.value)], method.value);
  };
}

export function actionsHandledBy(method: object): readonly string[] {
  return (Reflect.getMetadata(HANDLED_ACTIONS, method) as readonly string[] | undefined) ?? [];
}
