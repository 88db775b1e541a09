import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AGENT } from '../agents/agent.kind';
import { DECISION } from '../decisions/decision.kind';
import { CLAIM } from '../entities/claim.kind';
import { ENTITY } from '../entities/entity.kind';
import { RequiresScope } from '../http/request/route-marks';
import { CounterReader } from '../ledger/reading/counter-reader';
import { RecordCatalog } from '../ledger/records/record-catalog';
import { POLICY } from '../policies/policy.kind';
import { StatisticsResponse } from './dto/statistics.response';

const COUNTERS = [ENTITY, CLAIM, AGENT, DECISION, POLICY].map((kind) => kind.counter);

@ApiTags('Health')
@Controller('stats')
export class StatisticsController {
  private readonly ofModules: readonly string[];

  constructor(
    private readonly counters: CounterReader,
    catalog: RecordCatalog,
  ) {
    this.ofModules = [...catalog.all].flatMap(({ kind }) => (kind.isInStatistics === true ? kind.counter : []));
  }

  @Get()
  @RequiresScope('read')
  @ApiOperation({ summary: 'Count the records of the service', description: 'Six totals, all of the same moment.' })
  @ApiOkResponse({ type: StatisticsResponse, description: 'All counts are of the same moment.' })
  async count(): Promise<StatisticsResponse> {
    const { records, entries } = await this.counters.read([...COUNTERS, ...this.ofModules]);
    const [entities = 0, claims = 0, agents = 0, decisions = 0, policies = 0, ...others] = records;
    const modules = Object.fromEntries(this.ofModules.map((name, index) => [name, others[index] ?? 0]));
    return {
      entities,
      claims,
      agents,
      decisions,
      policies,
      provenanceEntries: entries,
      ...(others.length > 0 && { modules }),
    };
  }
}
