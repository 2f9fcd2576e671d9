# Writes r_csv2.csv and r_table.txt of tests/golden with R itself: Rscript make_golden.R golden
values <- data.frame(f1 = c(1, 0, 3), class = c("red", "dark blue", "red"), "f 2" = c(0.5, NA, -2.25e-10), check.names = FALSE,
  row.names = c("s1", "s 2", "s3"))
folder <- commandArgs(TRUE)[1]
write.csv2(values, file.path(folder, "r_csv2.csv"))
write.table(values, file.path(folder, "r_table.txt"))
