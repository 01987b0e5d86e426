// SPDX-License-Identifier: MIT
//! What can happen in a lab.

/// What happens next somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    BusDone {
        bus: u32,
    },
    DataMoves {
        unit: u32,
        slot: u32,
        first_ps: i64,
        end_ps: i64,
    },
    Decoded {
        unit: u32,
    },
    Released {
        unit: u32,
    },
    Landed {
        unit: u32,
    },
    Finished {
        unit: u32,
        slot: u32,
    },
    DataReady {
        unit: u32,
        slot: u32,
    },
    ArmDone {
        unit: u32,
    },
    NullDone {
        unit: u32,
        cookie: u64,
    },
    Refused {
        unit: u32,
    },
    ArrayWork {
        unit: u32,
    },
    ArrayIdle {
        unit: u32,
    },
    ArrayRebuild {
        unit: u32,
    },
}

impl Event {
    /// The drive or array that it is of.
    pub fn unit(&self) -> Option<u32> {
        match *self {
            Self::DataMoves { unit, .. }
            | Self::Decoded { unit }
            | Self::Released { unit }
            | Self::Landed { unit }
            | Self::Finished { unit, .. }
            | Self::DataReady { unit, .. }
            | Self::ArmDone { unit }
            | Self::ArrayWork { unit }
            | Self::ArrayIdle { unit }
            | Self::ArrayRebuild { unit } => Some(unit),
            Self::BusDone { .. } | Self::NullDone { .. } | Self::Refused { .. } => None,
        }
    }
}
