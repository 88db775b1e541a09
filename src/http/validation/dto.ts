import type { Type } from '@nestjs/common';
import { createRequire } from 'node:module';
import type { Configuration } from '../../core/config/configuration';
import { type FieldFault, FaultList } from '../../core/errors/domain-error';
import { shownKey } from '../body/json-scanner';
import type * as classValidator from './class-validator-rules';
import type { FaultInside, MemberRule } from './value-rules';

/** A member of a DTO, as its decorators declare it. */
interface Member {
  /** It may be left out; null counts as left out. */
  readonly isOptional: boolean;
  /** Converts a text before it is checked. */
  readonly read: (text: string) => unknown;
  /** By name: each may have one rule of a name. */
  readonly rules: Readonly<Record<string, MemberRule>>;
  /** Of a list: each is a DTO of this class, as long as there are not more of them. */
  readonly items: Items | null;
}

interface Items {
  readonly type: Type;
  readonly most: number;
}

const MEMBERS = 'http:dto-members';
const WHOLE_RULES = 'http:whole-rules';
const UNDECLARED: Member = { isOptional: false, read: (text) => text, rules: {}, items: null };

/** Declares a member of a DTO, or says more about it. A class that extends another may declare a member anew. */
export function DtoMember(said: Partial<Member> = {}): PropertyDecorator {
  return (target, property) => {
    const own = ownMembers(target.constructor);
    const known = own.get(String(property)) ?? UNDECLARED;
    const rules = { ...known.rules, ...said.rules };
    Reflect.defineMetadata(MEMBERS, own.set(String(property), { ...known, ...said, rules }), target.constructor);
  };
}

/** Checks a member of a DTO. `name` distinguishes the rule from others on the same member. */
export function CheckedBy(name: string, rule: MemberRule): PropertyDecorator {
  return DtoMember({ rules: { [name]: rule } });
}

function ownMembers(type: object): Map<string, Member> {
  return (Reflect.getOwnMetadata(MEMBERS, type) ?? new Map()) as Map<string, Member>;
}

/** What is wrong with a request as a whole, judged by the members it has; `null` members have been removed. */
export type WholeRule = (members: Readonly<Record<string, unknown>>) => readonly FieldFault[];

/** A rule for a request as a whole that depends on settings. */
export type ConfiguredRule = (
  members: Readonly<Record<string, unknown>>,
  configuration: Configuration,
) => readonly FieldFault[];

/** Validates a request by the combination of its members. */
export function WholeRequest(rule: WholeRule): ClassDecorator {
  return ConfiguredRequest(rule);
}

/** The same by a rule that depends on settings. */
export function ConfiguredRequest(rule: ConfiguredRule): ClassDecorator {
  return (target) => Reflect.defineMetadata(WHOLE_RULES, [...wholeRulesOf(target), rule], target);
}

/** Those of the classes that it extends come first. */
function wholeRulesOf(type: object): readonly ConfiguredRule[] {
  return (Reflect.getMetadata(WHOLE_RULES, type) as readonly ConfiguredRule[] | undefined) ?? [];
}

/** What the decorators of a DTO declare. */
interface Declaration {
  /** First its own, then those of the classes that it extends. */
  readonly members: ReadonlyMap<string, Member>;
  readonly wholeRules: readonly ConfiguredRule[];
  /** Null unless it has decorators of class-validator, which modules may use. */
  readonly foreign: classValidator.ForeignRules | null;
}

const declarations = new WeakMap<Type, Declaration>();

function declared(type: Type): Declaration {
  const known = declarations.get(type) ?? readDeclaration(type);
  declarations.set(type, known);
  return known;
}

function readDeclaration(type: Type): Declaration {
  const members = new Map<string, Member>();
  for (let owner: object | null = type; owner !== null; owner = Object.getPrototypeOf(owner) as object | null)
    for (const [name, member] of ownMembers(owner)) if (!members.has(name)) members.set(name, member);
  const foreign = foreignRules(type);
  for (const name of foreign?.members ?? []) if (!members.has(name)) members.set(name, UNDECLARED);
  return { members, wholeRules: wholeRulesOf(type), foreign };
}

/** Whoever decorates a class with class-validator has loaded it. The service itself does without. */
function foreignRules(type: Type): classValidator.ForeignRules | null {
  if (!(require.resolve('class-validator') in require.cache)) return null;
  const { rulesOf } = createRequire(__filename)('./class-validator-rules') as typeof classValidator;
  return rulesOf(type);
}

/** Makes DTOs from the members that their classes declare, and collects all that is wrong with what was given. */
export class DtoReader {
  private readonly list = new FaultList();
  readonly faults = this.list.faults;

  constructor(private readonly configuration: Configuration) {}

  /** `path` goes before the names of members: `query.`, or `policies[3].` in a list. */
  read(type: Type, given: object, path: string): object {
    const { members, wholeRules, foreign } = declared(type);
    this.noteUnknown(given, members, path);
    const known: Record<string, unknown> = {};
    for (const [name, { isOptional }] of members) {
      const value = Object.hasOwn(given, name) ? (given as Readonly<Record<string, unknown>>)[name] : undefined;
      if (value !== undefined && (value !== null || !isOptional)) known[name] = value;
    }
    for (const rule of wholeRules) this.noteWhole(rule(known, this.configuration), path);
    const dto = new type() as Record<string, unknown>;
    for (const [name, { read, items }] of members) {
      const value = known[name];
      if (typeof value === 'string') dto[name] = read(value);
      else if (items !== null && Array.isArray(value)) dto[name] = this.readItems(items, value, `${path}${name}`);
      else if (value !== undefined) dto[name] = value;
    }
    for (const [name, { isOptional, rules }] of members) {
      if (isOptional && known[name] === undefined) continue;
      for (const rule of Object.values(rules)) {
        const found = rule(dto[name]);
        if (found !== undefined) this.noteFound(found, `${path}${name}`);
      }
    }
    return foreign === null ? dto : this.readForeign(foreign, dto, path);
  }

  private readItems({ type, most }: Items, given: readonly unknown[], path: string): readonly unknown[] {
    if (given.length > most) return given;
    const read: object[] = [];
    for (const [index, item] of given.entries()) {
      if (this.list.isFull) break;
      if (typeof item === 'object' && item !== null && !Array.isArray(item))
        read.push(this.read(type, item, `${path}[${index}].`));
      else this.list.add({ field: `${path}[${index}]`, message: 'must be an object' });
    }
    return read;
  }

  private readForeign({ transform, faultsOf }: classValidator.ForeignRules, given: object, path: string): object {
    const dto = transform(given);
    this.note(faultsOf(dto, path));
    return dto;
  }

  private noteFound(found: string | readonly FaultInside[], field: string): void {
    if (typeof found === 'string') this.list.add({ field, message: found });
    else this.note(found.map(({ at, message }) => ({ field: `${field}${at}`, message })));
  }

  private noteUnknown(given: object, members: ReadonlyMap<string, Member>, path: string): void {
    const unknown = Object.keys(given).filter((name) => !members.has(name));
    if (unknown.length === 0) return;
    const message = `is not known here; known are ${[...members.keys()].join(', ')}`;
    this.note(unknown.map((name) => ({ field: `${path}${shownKey(name)}`, message })));
  }

  /** Rules for a whole query name its fields in full. */
  private noteWhole(faults: readonly FieldFault[], path: string): void {
    this.note(path === 'query.' ? faults : faults.map((fault) => ({ ...fault, field: `${path}${fault.field}` })));
  }

  private note(faults: readonly FieldFault[]): void {
    for (const fault of faults) this.list.add(fault);
  }
}
