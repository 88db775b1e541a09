import { Module } from '@nestjs/common';
import { ChainExport } from './chain-export';
import { CheckpointsModule } from '../checkpoints/checkpoints.module';
import { ChainVerifier } from './chain-verifier';
import { ProvenanceController } from './provenance.controller';
import { StateVerifier } from './state-verifier';

@Module({
  imports: [CheckpointsModule],
  controllers: [ProvenanceController],
  providers: [ChainExport, ChainVerifier, StateVerifier],
})
export class ProvenanceModule {}
