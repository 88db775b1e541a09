import { compilePolicy, type CompiledPolicy, type PolicyRules, compareByRank, isRemovedBy } from './compiled-policy';
import type { Evaluation, EvaluationRequest } from './evaluation-request';
import { explanationOf, type Explanation } from './explanation';
import type { EvaluationSubject } from '../patterns/subject';
import { PolicyNames, releaseNames, type SubjectNames } from './policy-names';
import { PolicySetHash } from './policy-set-hash';
import { ResourceIndex } from './resource-index';
import { Verdict } from './verdict';

/** The policies that were in force at one moment, whatever has changed since. */
export interface PolicySnapshot {
  /** Hex SHA-256 of the RFC 8785 array of their sorted ids. */
  readonly policySet: string;
  readonly evaluate: (request: EvaluationRequest) => Evaluation;
  /** Finds out in small steps what policies call a subject with many roles, once: its evaluations then need not. */
  readonly prepare: (subject: EvaluationSubject) => Generator<void>;
  readonly explain: (request: EvaluationRequest) => Explanation;
  /** Must be called exactly once, when done: policies removed since then are kept until then. */
  readonly close: () => void;
}

/**
 * The policies in force, and the decision whether they let an agent do something. They are filed by resource and
 * action, in order of precedence; an evaluation only looks where a match could still matter.
 */
export class PolicyEvaluator {
  private readonly policies = new Map<string, CompiledPolicy>();
  private readonly names = new PolicyNames();
  private readonly order = new PolicyOrder();
  private readonly resources = new ResourceIndex();
  private readonly ids = new PolicySetHash();
  /** Incremented by every change. */
  private changes = 0;
  /** The change numbers of open snapshots. */
  private readonly open: number[] = [];
  /** No longer in force, but still part of some open snapshot. */
  private leaving: CompiledPolicy[] = [];

  get size(): number {
    return this.policies.size;
  }

  /** Differs whenever another set is in force. */
  get version(): number {
    return this.changes;
  }

  /** Hex SHA-256 of the RFC 8785 array of the sorted ids of the policies in force. */
  get policySet(): string {
    return this.ids.hash;
  }

  /** The same, once some policies have come into force and others have been removed. */
  policySetWith(added: readonly string[], removed: readonly string[]): string {
    return this.ids.hashWith(added, removed);
  }

  /**
   * Puts policies in force and removes others, in small steps, between which evaluations may take place. All takes effect at
   * once. Policies already in force are not added again. To be finished before another change begins.
   */
  *change(added: readonly PolicyRules[], removed: readonly string[]): Generator<void> {
    const at = this.changes + 1;
    const coming: CompiledPolicy[] = [];
    for (const policy of added) {
      if (this.policies.has(policy.id)) continue;
      coming.push(compilePolicy(policy, this.names.take(policy), at));
      yield;
    }
    this.order.add(coming);
    for (const policy of coming) {
      yield;
      this.resources.add(policy);
    }
    const going = [...new Set(removed)].flatMap((id) => this.policies.get(id) ?? []);
    this.takeEffect(at, coming, going);
    yield* this.forgotten();
  }

  /** Puts policies in force; those already in force stay as they are. */
  addAll(policies: readonly PolicyRules[]): void {
    finish(this.change(policies, []));
  }

  /** Puts a policy in force; one already in force stays as it is. */
  add(policy: PolicyRules): void {
    this.addAll([policy]);
  }

  /** Removes a policy; does nothing if it is not in force. */
  remove(id: string): void {
    this.removeAll([id]);
  }

  /** Removes policies; those not in force are ignored. */
  removeAll(ids: readonly string[]): void {
    finish(this.change([], ids));
  }

  evaluate(request: EvaluationRequest): Evaluation {
    return this.evaluateAt(request, this.changes);
  }

  /** For evaluations that take several turns, while policies come and go. */
  snapshot(): PolicySnapshot {
    const at = this.changes;
    const { policySet, size: inForce } = this;
    // Long lists ask about the same subjects again and again. Names that open snapshots include stay the same objects.
    const subjects = new Map<EvaluationSubject, SubjectNames>();
    const { names } = this;
    this.open.push(at);
    return {
      policySet,
      evaluate: (request) => {
        const { subject } = request;
        const known = subjects.get(subject) ?? this.names.namesOf(subject);
        subjects.set(subject, known);
        return this.evaluateAt(request, at, known);
      },
      prepare: function* (subject) {
        if (!subjects.has(subject)) subjects.set(subject, yield* names.namesInSteps(subject));
      },
      explain: (request) =>
        explanationOf(this.order.all, inForce, this.resources, this.names.asked(request), request, at),
      close: () => {
        this.open.splice(this.open.indexOf(at), 1);
        finish(this.forgotten());
      },
    };
  }

  private evaluateAt(request: EvaluationRequest, at: number, subjects?: SubjectNames): Evaluation {
    const verdict = new Verdict(this.names.asked(request, subjects), at);
    this.resources.offer(request, verdict);
    return verdict.evaluation();
  }

  private takeEffect(at: number, coming: readonly CompiledPolicy[], going: readonly CompiledPolicy[]): void {
    if (coming.length === 0 && going.length === 0) return;
    this.changes = at;
    for (const policy of going) {
      this.policies.delete(policy.reference.id);
      policy.until = at;
      this.leaving.push(policy);
    }
    for (const policy of coming) this.policies.set(policy.reference.id, policy);
    this.ids.change(coming.map(idOf), going.map(idOf));
  }

  /** Drops policies that no open snapshot includes any more, in steps: no evaluation counts those that are still filed. */
  private *forgotten(): Generator<void> {
    if (this.leaving.length === 0) return;
    const oldest = Math.min(...this.open);
    const { leaving } = this;
    const left = leaving.filter((policy) => isRemovedBy(policy, oldest));
    this.leaving = leaving.filter((policy) => !isRemovedBy(policy, oldest));
    for (const policy of left) {
      this.resources.remove(policy);
      yield;
    }
    this.order.remove(left);
    for (const policy of left) releaseNames(policy);
  }
}

/** Runs all steps at once. */
function finish(steps: Generator<void>): void {
  while (steps.next().done !== true);
}

function idOf({ reference }: CompiledPolicy): string {
  return reference.id;
}

/**
 * All policies in force, in order of precedence. Each knows its place, so that comparing two policies is comparing
 * numbers.
 */
class PolicyOrder {
  private policies: CompiledPolicy[] = [];

  get all(): readonly CompiledPolicy[] {
    return this.policies;
  }

  /** Adding many at once costs little more than one. */
  add(policies: readonly CompiledPolicy[]): void {
    const [first] = policies;
    if (first === undefined) return;
    if (policies.length > 1) {
      this.policies = [...this.policies, ...policies].sort(compareByRank);
      this.numberFrom(0);
    } else {
      const place = this.placeFor(first);
      this.policies.splice(place, 0, first);
      this.numberFrom(place);
    }
  }

  /** Removing many at once costs little more than one. */
  remove(policies: readonly CompiledPolicy[]): void {
    const [first] = policies;
    if (first === undefined) return;
    if (policies.length > 1) {
      const removed = new Set(policies);
      this.policies = this.policies.filter((policy) => !removed.has(policy));
      this.numberFrom(0);
    } else {
      this.policies.splice(first.place, 1);
      this.numberFrom(first.place);
    }
  }

  private numberFrom(place: number): void {
    for (const [index, policy] of this.policies.slice(place).entries()) policy.place = place + index;
  }

  private placeFor(policy: CompiledPolicy): number {
    let low = 0;
    let high = this.policies.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = this.policies[middle];
      if (found !== undefined && compareByRank(found, policy) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
