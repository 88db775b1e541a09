import { Module } from '@nestjs/common';
import { ChainExport } from './chain-export';
import { CheckpointsModule } from '../checkpoints/checkpoints.module';
import { VerificationModule } from '../verification/verification.module';
import { ProvenanceController } from './provenance.controller';

@Module({
  imports: [CheckpointsModule, VerificationModule],
  controllers: [ProvenanceController],
  providers: [ChainExport],
})
export class ProvenanceModule {}
