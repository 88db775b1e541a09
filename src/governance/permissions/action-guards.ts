import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { JsonObject } from '../../core/json/json-value';
import type { DecidingPolicy } from '../policies/evaluation/evaluation';
import type { OnBehalfOf } from '../policies/patterns/principals';
import { storable } from '../executions/handlers/action-runner';
import { type MarkedMethod, markedMethods, markMethod } from '../executions/handlers/action-handlers';

/** The action that an agent requests, and the verdict of the policies. */
export interface GuardedAction {
  readonly agentId: string;
  readonly agentName: string;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly parameters: JsonObject;
  /** Null if the agent acts on nobody's behalf. */
  readonly onBehalfOf: OnBehalfOf | null;
  readonly run: string | null;
  /** Verdict of the policies; no guard sees denied actions. */
  readonly verdict: 'allow' | 'require_approval';
  /** The policies that decided. */
  readonly policies: readonly DecidingPolicy[];
}

/** Returns a sentence that says why the action is refused, or null to leave the verdict as it is. */
export type ActionGuardMethod = (action: GuardedAction) => string | null;

/**
 * Marks a provider method that may refuse what policies allow, or allow after an approval: it can only tighten. It is
 * called whenever the policies are evaluated, so it must answer at once from memory, and change nothing.
 */
export function ActionGuard(name: string) {
  return <Method extends ActionGuardMethod>(
    _target: object,
    _name: string | symbol,
    method: TypedPropertyDescriptor<Method>,
  ): void => markMethod('ActionGuard', name, method.value);
}

/** A refusal by an extension. */
export interface GuardRefusal {
  readonly guard: string;
  readonly sentence: string;
}

/** Every method marked with `@ActionGuard`, in any module. */
@Injectable()
export class ActionGuards implements OnModuleInit {
  private guards: readonly MarkedMethod<ActionGuardMethod>[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  onModuleInit(): void {
    this.guards = markedMethods('ActionGuard', this.discovery, this.scanner);
  }

  /**
   * Returns the refusal of the first guard that refuses. An error of a guard fails the request.
   * @throws TypeError for a guard that returns neither a sentence nor null: a promise would let everything through
   */
  refusalOf(actionToGuard: () => GuardedAction): GuardRefusal | null {
    for (const { text: guard, location, call } of this.guards) {
      const sentence: unknown = call(structuredClone(actionToGuard()));
      if (sentence === null) continue;
      if (typeof sentence === 'string' && sentence.trim() !== '') return { guard, sentence: storable(sentence) };
      throw new TypeError(`${location}, the action guard "${guard}", must return null or a sentence, at once.`);
    }
    return null;
  }
}
