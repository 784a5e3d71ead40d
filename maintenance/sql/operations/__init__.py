"""Operations that need statements or queries; the others are in `maintenance.operations`."""
